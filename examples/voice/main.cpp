// Speaks with a seed, in ONNX Runtime: prints a hash of what was drawn, and writes the sound.
//
//   voice ONNXRUNTIME voice-seed.onnx SEED OUTPUT
//
// As speak.py beside it; ONNXRUNTIME is libonnxruntime.so. For Windows, load it as ../c_onnxruntime/main.c does.
#include <dlfcn.h>
#include <onnx_philox/ort_api.h>
#include <onnx_philox/state.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const OrtApi* ort = nullptr;

void Check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string text = ort->GetErrorMessage(status);
  ort->ReleaseStatus(status);
  throw std::runtime_error(text);
}

void LoadOnnxRuntime(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* found = dlsym(library, "OrtGetApiBase");
  if (found == nullptr) throw std::runtime_error(std::string(path) + " is no ONNX Runtime");
  ort = reinterpret_cast<const OrtApiBase* (*)()>(found)()->GetApi(ONNX_PHILOX_ORT_API_VERSION);
  if (ort == nullptr) throw std::runtime_error(std::string(path) + " is older than 1.17");
}

template <typename T>
OrtValue* Tensor(const std::vector<T>& data, const std::vector<std::int64_t>& shape, OrtElementType type) {
  OrtAllocator* allocator = nullptr;
  Check(ort->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* value = nullptr;
  Check(ort->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), type, &value));
  void* memory = nullptr;
  Check(ort->GetTensorMutableData(value, &memory));
  std::memcpy(memory, data.data(), data.size() * sizeof(T));
  return value;
}

std::vector<float> Floats(OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(ort->GetTensorTypeAndShape(value, &info));
  std::size_t size = 0;
  Check(ort->GetTensorShapeElementCount(info, &size));
  ort->ReleaseTensorTypeAndShapeInfo(info);
  void* data = nullptr;
  Check(ort->GetTensorMutableData(value, &data));
  const auto* floats = static_cast<const float*>(data);
  return {floats, floats + size};
}

std::uint64_t Fnv1a(const std::vector<float>& floats, std::uint64_t hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(floats.data());
  for (std::size_t i = 0; i < floats.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

void Speak(const char* model, std::uint64_t seed, const char* output) {
  OrtEnv* env = nullptr;
  Check(ort->CreateEnv(ORT_LOG_WARNING, "voice", &env));
  OrtSessionOptions* options = nullptr;
  Check(ort->CreateSessionOptions(&options));
  OrtSession* session = nullptr;
  Check(ort->CreateSession(env, model, options, &session));

  std::vector<std::uint32_t> state(ONNX_PHILOX_STATE_WORDS);
  onnx_philox_state_for_run(seed, 0, state.data());
  const char* const input_names[] = {"text", "scales", "random_state"};
  OrtValue* const inputs[] = {Tensor<std::int64_t>({3, 1, 4, 1, 5, 9}, {1, 6}, ORT_TYPE_INT64),
                              Tensor<float>({0.667f, 1.0f, 0.8f}, {3}, ORT_TYPE_FLOAT),
                              Tensor<std::uint32_t>(state, {6}, ORT_TYPE_UINT32)};
  const char* const output_names[] = {"wav", "/RandomNormalLike_output_0", "/RandomNormalLike_1_output_0"};
  OrtValue* outputs[3] = {};
  Check(ort->Run(session, nullptr, input_names, inputs, 3, output_names, 3, outputs));

  const std::vector<float> wav = Floats(outputs[0]);
  std::FILE* file = std::fopen(output, "wb");
  if (file == nullptr) throw std::runtime_error(std::string(output) + " cannot be written");
  std::fwrite(wav.data(), sizeof(float), wav.size(), file);
  std::fclose(file);
  const std::uint64_t hash = Fnv1a(Floats(outputs[2]), Fnv1a(Floats(outputs[1]), 0xcbf29ce484222325u));
  std::printf("draws: %016llx\nwav: %zu samples\n", static_cast<unsigned long long>(hash), wav.size());

  for (OrtValue* value : inputs) ort->ReleaseValue(value);
  for (OrtValue* value : outputs) ort->ReleaseValue(value);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(env);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s ONNXRUNTIME MODEL SEED OUTPUT\n", argv[0]);
    return 2;
  }
  try {
    LoadOnnxRuntime(argv[1]);
    Speak(argv[2], std::strtoull(argv[3], nullptr, 10), argv[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
