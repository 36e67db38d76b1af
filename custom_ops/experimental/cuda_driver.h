// NVIDIA's driver, opened by name when it is first asked for: no header, library or toolkit of CUDA is needed to build this,
// nor to run it without a card. Only what a draw needs of it is here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "cuda_part.h"

namespace onnx_philox {
namespace cuda {

using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;

/// The functions of the driver, as cuda.h declares them. A result of 0 is success.
struct Driver {
  int (*Init)(unsigned flags);
  int (*DriverGetVersion)(int* version);
  int (*GetErrorName)(int error, const char** name);
  int (*GetErrorString)(int error, const char** text);
  int (*DeviceGetCount)(int* count);
  int (*DeviceGet)(int* device, int ordinal);
  int (*DeviceGetAttribute)(int* value, int attribute, int device);
  int (*DevicePrimaryCtxRetain)(Context* context, int device);
  int (*DevicePrimaryCtxRelease)(int device);
  int (*CtxGetCurrent)(Context* context);
  int (*CtxPushCurrent)(Context context);
  int (*CtxPopCurrent)(Context* context);
  int (*StreamGetCtx)(Stream stream, Context* context);
  int (*StreamIsCapturing)(Stream stream, int* status);
  int (*ModuleLoadDataEx)(Module* module, const void* image, unsigned options, int* option, void** values);
  int (*ModuleUnload)(Module module);
  int (*ModuleGetFunction)(Function* function, Module module, const char* name);
  int (*MemHostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  int (*MemHostGetDevicePointer)(std::uint64_t* pointer, void* memory, unsigned flags);
  int (*MemFreeHost)(void* memory);
  int (*Memcpy)(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  int (*LaunchKernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters,
                      void** extra);
};

/// The compute capability that the kernels need, times 10, and the driver's version, as cuDriverGetVersion says it.
constexpr int kLeastCapability = 75, kLeastDriver = 12000;

/// Empty if a call of the driver has succeeded; else the driver's function, and its words for the error.
std::string ErrorOf(const Driver& driver, const char* function, int result);

/// Makes a context current for as long as it lives, if it is not current.
class InContext {
 public:
  InContext(const Driver& driver, Context context) : driver_(driver) {
    Context current = nullptr;
    error_ = ErrorOf(driver, "cuCtxGetCurrent", driver.CtxGetCurrent(&current));
    if (!error_.empty() || current == context) return;
    error_ = ErrorOf(driver, "cuCtxPushCurrent", driver.CtxPushCurrent(context));
    is_pushed_ = error_.empty();
  }
  ~InContext() {
    Context popped = nullptr;
    if (is_pushed_) driver_.CtxPopCurrent(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

  /// Empty if it is current.
  const std::string& error() const { return error_; }

 private:
  const Driver& driver_;
  std::string error_;
  bool is_pushed_ = false;
};

/// Kernels that are loaded into a context: unloaded with the last node that launches them.
class LoadedKernels {
 public:
  /// Those of `image` in `context`, which is current: loaded already, or now. Null, with `*error`, if the driver fails.
  static std::shared_ptr<const LoadedKernels> For(const Driver& driver, Context context, const void* image,
                                                  std::string* error);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  /// Null, with `*error`, if the driver does not find it.
  Function Find(const char* name, std::string* error) const;

 private:
  LoadedKernels(const Driver& driver, Context context) : driver_(driver), context_(context) {}

  const Driver& driver_;
  Context context_;
  Module module_ = nullptr;
};

/// A word of the host's memory that kernels can write to.
class SharedWord {
 public:
  /// A word of `context`, which is current. Null, with `*error`, if the driver fails.
  static std::unique_ptr<SharedWord> Make(const Driver& driver, Context context, std::string* error);
  ~SharedWord();
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;

  /// Where kernels find it.
  std::uint32_t* on_device() const { return on_device_; }
  /// What kernels have written; from now on it is 0 again.
  std::uint32_t Take() const;

 private:
  using Word = std::atomic<std::uint32_t>;  // any thread of the host may take it
  static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free, "kernels write a plain word");

  SharedWord(const Driver& driver, Context context) : driver_(driver), context_(context) {}

  const Driver& driver_;
  Context context_;
  Word* word_ = nullptr;
  std::uint32_t* on_device_ = nullptr;
};

}  // namespace cuda
}  // namespace onnx_philox
