/* A stand-in for NVIDIA's driver, libcuda.so.1, for machines without one: it notes every call, fails where a test wants it
 * to, and has a function of the test draw what a launch would. The memory of its card is the host's.
 *
 * tests/experimental/test_cuda.py builds and loads it. What it proves is which calls are made, with which arguments, and what becomes of
 * an error; that the kernels compute the right bits is proved elsewhere, with their PTX.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*DrawLaunch)(const char* kernel, const void* launch, unsigned blocks, unsigned threads, void* stream);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* What a test compiles in, for a process that it does not share. */
#ifndef VERSION
#define VERSION 12000
#endif
#ifndef CARDS
#define CARDS 1
#endif
#ifndef CAPABILITY
#define CAPABILITY 75
#endif
#ifndef FAILING
#define FAILING ""
#endif

static char calls[1 << 20];
static size_t length;
static char failing[64] = FAILING;
static int fails_after, fails_with = 100;
static int live; /* modules, words and retained contexts that are not given back; contexts that are pushed */
static DrawLaunch draw;
static const int version = VERSION, cards = CARDS, capability = CAPABILITY;
static int capturing;
static int has_context = 1, stream_context = 1;
static int contexts[3]; /* their addresses are handles */
static __thread void* pushed[8];
static __thread int depth;

/* For the tests. */
void stand_in_reset(void) {
  length = 0, calls[0] = 0, failing[0] = 0;
  capturing = 0, has_context = 1, stream_context = 1;
}
void stand_in_fail(const char* name, int after, int with) {
  snprintf(failing, sizeof(failing), "%s", name), fails_after = after, fails_with = with;
}
void stand_in_set(const char* what, int value) {
  if (!strcmp(what, "capturing")) capturing = value;
  if (!strcmp(what, "has_context")) has_context = value;
  if (!strcmp(what, "stream_context")) stream_context = value;
}
void stand_in_draw_with(DrawLaunch given) { draw = given; }
const char* stand_in_calls(void) { return calls; }
int stand_in_live(void) { return live; }

/* Notes a call; 0, or the error with which it is to fail. */
static int note(const char* name, const char* more) {
  int result = 0;
  pthread_mutex_lock(&lock);
  const size_t room = sizeof(calls) - length;
  const int written = snprintf(calls + length, room, "%s %s\n", name, more);
  if (written > 0 && (size_t)written < room) length += (size_t)written;
  if (!strcmp(name, failing) && fails_after-- == 0) result = fails_with;
  pthread_mutex_unlock(&lock);
  return result;
}
static void count(int by) { __atomic_add_fetch(&live, by, __ATOMIC_SEQ_CST); }
#define NOTED(...)                                \
  char more[160];                                 \
  snprintf(more, sizeof(more), " " __VA_ARGS__);  \
  const int failed = note(__func__, more);        \
  if (failed) return failed
/* Refuses what needs a context where the thread has none. */
#define NEEDS_CONTEXT if (!current()) return 201

static void* current(void) { return depth > 0 ? pushed[depth - 1] : has_context ? &contexts[1] : NULL; }

int cuGetErrorName(int error, const char** name) {
  *name = error == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
  return *name ? 0 : 1;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 719 ? "unspecified launch failure" : error == 2 ? "out of memory" : NULL;
  return *text ? 0 : 1;
}
int cuInit(unsigned flags) { NOTED("%u", flags); return 0; }
int cuDriverGetVersion(int* got) { NOTED(""); *got = version; return 0; }
int cuDeviceGetCount(int* got) { NOTED(""); *got = cards; return 0; }
int cuDeviceGet(int* device, int ordinal) { NOTED("%d", ordinal); *device = ordinal; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  NOTED("%d %d", attribute, device);
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : -1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  NOTED("%d", device);
  *context = &contexts[1];
  count(1);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) { NOTED("%d", device); count(-1); return 0; }
int cuCtxGetCurrent(void** context) {
  NOTED("");
  *context = current();
  return 0;
}
int cuCtxPushCurrent_v2(void* context) { NOTED("%d", (int)((int*)context - contexts)); pushed[depth++] = context; count(1); return 0; }
int cuCtxPopCurrent_v2(void** context) { NOTED(""); *context = pushed[--depth]; count(-1); return 0; }
int cuStreamGetCtx(void* stream, void** context) { NOTED("%p", stream); *context = &contexts[stream_context]; return 0; }
int cuStreamIsCapturing(void* stream, int* status) { NOTED("%p", stream); *status = capturing; return 0; }
int cuModuleLoadDataEx(void** module, const void* image, unsigned options, int* option, void** values) {
  NOTED("%u", options);
  NEEDS_CONTEXT;
  (void)option, (void)values;
  if (!strstr(image, ".version 8.0\n.target sm_75\n")) return 218; /* no PTX for the oldest card and driver */
  *module = malloc(1);
  count(1);
  return 0;
}
int cuModuleUnload(void* module) { NOTED(""); NEEDS_CONTEXT; free(module); count(-1); return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  static char names[64][64]; /* a function is its name */
  NOTED("%s", name);
  NEEDS_CONTEXT;
  if (!module) return 400;
  pthread_mutex_lock(&lock);
  int i = 0;
  while (names[i][0] && strcmp(names[i], name)) ++i;
  snprintf(names[i], sizeof(names[i]), "%s", name);
  pthread_mutex_unlock(&lock);
  *function = names[i];
  return 0;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  NOTED("%zu %u", bytes, flags);
  NEEDS_CONTEXT;
  *memory = malloc(bytes);
  count(1);
  return 0;
}
int cuMemHostGetDevicePointer_v2(uint64_t* pointer, void* memory, unsigned flags) {
  NOTED("%u", flags);
  NEEDS_CONTEXT;
  *pointer = (uint64_t)(uintptr_t)memory;
  return 0;
}
int cuMemFreeHost(void* memory) { NOTED(""); NEEDS_CONTEXT; free(memory); count(-1); return 0; }
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
  NOTED("%zu", bytes);
  NEEDS_CONTEXT;
  memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, bytes);
  return 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  NOTED("%s grid %u,%u,%u block %u,%u,%u shared %u extra %d", (const char*)function, gx, gy, gz, bx, by, bz, shared,
        extra != NULL);
  NEEDS_CONTEXT;
  if (draw) draw((const char*)function, parameters[0], gx, bx, stream);
  return 0;
}
