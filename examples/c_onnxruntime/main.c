/* Runs a saved model with onnx-philox operators in ONNX Runtime, from plain C.
 *
 *   c_onnxruntime ONNXRUNTIME LIBRARY MODEL
 *
 * ONNXRUNTIME is libonnxruntime.so, of a Python wheel for instance; LIBRARY is libonnx_philox_onnxruntime.so; MODEL an
 * .onnx file without inputs and with a float output called `values`.
 *
 * A program that has ONNX Runtime's own headers includes onnxruntime_c_api.h instead of ort_api.h, links to the library
 * and needs no dlopen; the calls are the same.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "ort_api.h"

static const OrtApi* ort;

/* Ends the program on an error; everything ONNX Runtime does returns a status, null where all is well. */
static void check(OrtStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  exit(1);
}

static const OrtApi* load_onnxruntime(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  const OrtApiBase* (*get_base)(void);
  *(void**)&get_base = dlsym(library, "OrtGetApiBase"); /* how POSIX has a function from dlsym */
  const OrtApi* api = get_base == NULL ? NULL : get_base()->GetApi(ONNX_PHILOX_ORT_API_VERSION);
  if (api == NULL) {
    fprintf(stderr, "%s is no ONNX Runtime, or older than 1.17\n", path);
    exit(1);
  }
  return api;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s ONNXRUNTIME LIBRARY MODEL\n", argv[0]);
    return 2;
  }
  ort = load_onnxruntime(argv[1]);

  OrtEnv* env = NULL;
  check(ort->CreateEnv(ORT_LOG_WARNING, "c_onnxruntime", &env));
  OrtSessionOptions* options = NULL;
  check(ort->CreateSessionOptions(&options));
  check(ort->RegisterCustomOpsLibrary_V2(options, argv[2])); /* the one line that onnx-philox needs */
  OrtSession* session = NULL;
  check(ort->CreateSession(env, argv[3], options, &session));

  const char* output_names[] = {"values"};
  OrtValue* values = NULL;
  check(ort->Run(session, NULL, NULL, NULL, 0, output_names, 1, &values));

  OrtTensorTypeAndShapeInfo* info = NULL;
  check(ort->GetTensorTypeAndShape(values, &info));
  size_t elements = 0;
  check(ort->GetTensorShapeElementCount(info, &elements));
  void* data = NULL;
  check(ort->GetTensorMutableData(values, &data));
  printf("values:");
  for (size_t i = 0; i < elements; ++i) printf(" %.9g", ((const float*)data)[i]);
  printf("\n");

  ort->ReleaseTensorTypeAndShapeInfo(info);
  ort->ReleaseValue(values);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(env);
  return 0;
}
