/* Runs a saved model with onnx-philox operators in ONNX Runtime, from plain C.
 *
 *   c_onnxruntime ONNXRUNTIME LIBRARY MODEL
 *
 * ONNXRUNTIME is libonnxruntime.so or onnxruntime.dll, of a Python wheel for instance; LIBRARY is the file that
 * `onnx-philox path onnxruntime` prints; MODEL an .onnx file without inputs and with a float output called `values`.
 *
 * A program that has ONNX Runtime's own headers includes onnxruntime_c_api.h instead of ort_api.h, links to the library
 * and need not load it; the calls are the same.
 */
#include <onnx_philox/ort_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

static const OrtApi* ort;

/* Ends the program on an error; everything ONNX Runtime does returns a status, null where all is well. */
static void check(OrtStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  exit(1);
}

/* A function of a library; ends the program where there is no such library, and is null where it has no such function. */
#ifdef _WIN32
static FARPROC loaded(const char* path, const char* name) {
  /* With what the library itself needs from its own folder. */
  HMODULE library = LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (library == NULL) {
    fprintf(stderr, "%s cannot be loaded: error %lu\n", path, GetLastError());
    exit(1);
  }
  return GetProcAddress(library, name);
}
#else
static void* loaded(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return dlsym(library, name);
}
#endif

static const OrtApi* load_onnxruntime(const char* path) {
  const OrtApiBase*(ORT_CALL* get_base)(void) = NULL;
#ifdef _WIN32
  get_base = (const OrtApiBase*(ORT_CALL*)(void))(void*)loaded(path, "OrtGetApiBase");
#else
  *(void**)&get_base = loaded(path, "OrtGetApiBase"); /* how POSIX has a function from dlsym */
#endif
  const OrtApi* api = get_base == NULL ? NULL : get_base()->GetApi(ONNX_PHILOX_ORT_API_VERSION);
  if (api == NULL) {
    fprintf(stderr, "%s is no ONNX Runtime, or older than 1.17\n", path);
    exit(1);
  }
  return api;
}

/* A path as ONNX Runtime takes it, which the caller frees: wide characters on Windows. */
static OrtPathChar* as_path(const char* text) {
#ifdef _WIN32
  int size = MultiByteToWideChar(CP_ACP, 0, text, -1, NULL, 0);
  OrtPathChar* path = malloc((size_t)size * sizeof(OrtPathChar));
  if (path != NULL) MultiByteToWideChar(CP_ACP, 0, text, -1, path, size);
#else
  size_t size = strlen(text) + 1;
  OrtPathChar* path = malloc(size);
  if (path != NULL) memcpy(path, text, size);
#endif
  if (path == NULL) exit(1);
  return path;
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
  OrtPathChar* library = as_path(argv[2]);
  OrtPathChar* model = as_path(argv[3]);
  check(ort->RegisterCustomOpsLibrary_V2(options, library)); /* the one line that onnx-philox needs */
  OrtSession* session = NULL;
  check(ort->CreateSession(env, model, options, &session));
  free(library);
  free(model);

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
