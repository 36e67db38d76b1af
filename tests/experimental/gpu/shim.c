/* For LD_PRELOAD: what lets OpenVINO's GPU plugin take an OpenCL runtime for CPUs. Tests only; see `emulated`.
 *
 * It changes two answers about the device and keeps one reference alive. It touches no kernel, and no value. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A device's properties, and the values that the plugin asks for. */
enum { TYPE = 0x1000, VENDOR = 0x1001 };
enum { A_GPU = 4, NEITHER_INTEL_NOR_KNOWN = 0x10006 };

typedef int GetDeviceInfo(void *, unsigned, size_t, void *, size_t *);
typedef int CreateKernels(void *, unsigned, void **, unsigned *);
typedef int Retain(void *);

/* The plugin loads OpenCL after this library, so RTLD_NEXT does not find it. */
static void *in_opencl(const char *name) {
  static void *library;
  if (library == NULL) library = dlopen("libOpenCL.so.1", RTLD_NOW);
  void *const found = library == NULL ? NULL : dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "tests/experimental/gpu/shim.c: there is no %s in libOpenCL.so.1\n", name);
    abort();
  }
  return found;
}

int clGetDeviceInfo(void *device, unsigned property, size_t size, void *value, size_t *needed) {
  const int error = ((GetDeviceInfo *)in_opencl("clGetDeviceInfo"))(device, property, size, value, needed);
  if (error != 0 || value == NULL) return error;
  /* It passes over every device that is no GPU, and asks one of Intel's for what no CPU can tell. */
  if (property == TYPE) *(uint64_t *)value = A_GPU;
  if (property == VENDOR) *(uint32_t *)value = NEITHER_INTEL_NOR_KNOWN;
  return 0;
}

int clCreateKernelsInProgram(void *program, unsigned count, void **kernels, unsigned *created) {
  /* In Intel's runtime for CPUs, only counting the kernels releases the program. */
  if (kernels == NULL) ((Retain *)in_opencl("clRetainProgram"))(program);
  return ((CreateKernels *)in_opencl("clCreateKernelsInProgram"))(program, count, kernels, created);
}
