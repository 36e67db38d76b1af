/* The first latent of a diffusion model, from a seed: [1, 4, 64, 64] normals of float32. No session, no Python.
 *
 *   c_without_session SEED
 */
#include <inttypes.h>
#include <onnx_philox/onnx_philox.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS (1 * 4 * 64 * 64)

/* FNV-1a. */
static uint64_t hash_of(const void* data, size_t bytes) {
  const unsigned char* byte = (const unsigned char*)data;
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * UINT64_C(1099511628211);
  return hash;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s SEED\n", argv[0]);
    return 2;
  }
  uint32_t state[ONNX_PHILOX_STATE_WORDS];
  onnx_philox_state_for_run(strtoull(argv[1], NULL, 10), 0, state);

  static float latent[ELEMENTS];
  const int64_t shape[] = {1, 4, 64, 64}, four[] = {4}, words[] = {ONNX_PHILOX_STATE_WORDS};
  const float mean = 0, scale = 1;
  const onnx_philox_attribute type = {"output_type", "f32", 0};
  const onnx_philox_input inputs[] = {{"shape", "i64", four, 1, shape},
                                      {"mean", "f32", NULL, 0, &mean},
                                      {"scale", "f32", NULL, 0, &scale},
                                      {"state", "u32", words, 1, state}};
  /* The next state replaces the state: the next call goes on from here. */
  const onnx_philox_output outputs[] = {{latent, sizeof(latent)}, {state, sizeof(state)}};
  const onnx_philox_call call = {ONNX_PHILOX_API_VERSION, 0, "RandomNormal", inputs, 4, &type, 1, outputs, 2};
  char error[512];
  if (onnx_philox_run(&call, error, sizeof(error)) != ONNX_PHILOX_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("%.9g %.9g, hash %016" PRIx64 "\n", (double)latent[0], (double)latent[1], hash_of(latent, sizeof(latent)));
  return 0;
}
