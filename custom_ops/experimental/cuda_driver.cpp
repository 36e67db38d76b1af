// Opening the driver, and what it holds for a node: see cuda_driver.h.
#include "cuda_driver.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>

#if defined(_WIN32)
#define NOMINMAX  // which would stand in the way of std::max
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include "cuda/ptx.h"

namespace onnx_philox {
namespace cuda {

namespace {

#if defined(_WIN32)
/// From Windows' own folder, never from that of the program or the current one. Null, and why.
void* Open(std::string* why) {
  constexpr char kFile[] = "nvcuda.dll";
  void* const library = reinterpret_cast<void*>(LoadLibraryExA(kFile, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32));
  if (library == nullptr) *why = std::string(kFile) + ": error " + std::to_string(GetLastError()) + " of Windows";
  return library;
}
void* Symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
#else
/// Null, and why.
void* Open(std::string* why) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const words = dlerror();
  *why = words == nullptr ? "libcuda.so.1" : words;
  return nullptr;
}
void* Symbol(void* library, const char* name) { return dlsym(library, name); }
#endif

constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;  // of CUdevice_attribute

/// "7.5", "13.0": what `value` says, with its last `digits` after the point.
std::string Version(int value, int unit, int step) {
  return std::to_string(value / unit) + "." + std::to_string(value % unit / step);
}

/// The name of the first function that the library lacks; null if it has all.
const char* Fill(void* library, Driver* driver) {
  const char* missing = nullptr;
  const auto take = [&](auto* function, const char* name) {
    void* const found = Symbol(library, name);
    if (found == nullptr && missing == nullptr) missing = name;
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(found);
  };
  take(&driver->Init, "cuInit");
  take(&driver->DriverGetVersion, "cuDriverGetVersion");
  take(&driver->GetErrorName, "cuGetErrorName");
  take(&driver->GetErrorString, "cuGetErrorString");
  take(&driver->DeviceGetCount, "cuDeviceGetCount");
  take(&driver->DeviceGet, "cuDeviceGet");
  take(&driver->DeviceGetAttribute, "cuDeviceGetAttribute");
  take(&driver->DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  take(&driver->DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  take(&driver->CtxGetCurrent, "cuCtxGetCurrent");
  take(&driver->CtxPushCurrent, "cuCtxPushCurrent_v2");
  take(&driver->CtxPopCurrent, "cuCtxPopCurrent_v2");
  take(&driver->StreamGetCtx, "cuStreamGetCtx");
  take(&driver->StreamIsCapturing, "cuStreamIsCapturing");
  take(&driver->ModuleLoadDataEx, "cuModuleLoadDataEx");
  take(&driver->ModuleUnload, "cuModuleUnload");
  take(&driver->ModuleGetFunction, "cuModuleGetFunction");
  take(&driver->MemHostAlloc, "cuMemHostAlloc");
  take(&driver->MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
  take(&driver->MemFreeHost, "cuMemFreeHost");
  take(&driver->Memcpy, "cuMemcpy");
  take(&driver->LaunchKernel, "cuLaunchKernel");
  return missing;
}

/// The highest compute capability of a card here, times 10.
std::string HighestCapability(const Driver& driver, int cards, int* highest) {
  for (int i = 0; i < cards; ++i) {
    int device = 0, major = 0, minor = 0;
    std::string error = ErrorOf(driver, "cuDeviceGet", driver.DeviceGet(&device, i));
    if (error.empty()) {
      error = ErrorOf(driver, "cuDeviceGetAttribute", driver.DeviceGetAttribute(&major, kCapabilityMajor, device));
    }
    if (error.empty()) {
      error = ErrorOf(driver, "cuDeviceGetAttribute", driver.DeviceGetAttribute(&minor, kCapabilityMinor, device));
    }
    if (!error.empty()) return error;
    *highest = std::max(*highest, 10 * major + minor);
  }
  return std::string();
}

/// Why this driver cannot draw; empty if it can.
std::string WhyNot(const Driver& driver) {
  std::string error = ErrorOf(driver, "cuInit", driver.Init(0));
  int version = 0, cards = 0, highest = 0;
  if (error.empty()) error = ErrorOf(driver, "cuDriverGetVersion", driver.DriverGetVersion(&version));
  if (error.empty() && version < kLeastDriver) {
    return "the driver of NVIDIA is for CUDA " + Version(version, 1000, 10) + ", and the kernels need one for CUDA " +
           Version(kLeastDriver, 1000, 10) + " or newer";
  }
  if (error.empty()) error = ErrorOf(driver, "cuDeviceGetCount", driver.DeviceGetCount(&cards));
  if (error.empty()) error = HighestCapability(driver, cards, &highest);
  if (!error.empty()) return error;
  if (cards == 0) return "the driver of NVIDIA sees no card";
  if (highest >= kLeastCapability) return std::string();
  return "no card here has a compute capability of " + Version(kLeastCapability, 10, 1) +
         " or higher: the highest is " + Version(highest, 10, 1);
}

Found Find() {
  static Driver driver;
  std::string why;
  if (kPtxBytes == 0) return Found{nullptr, "this library was built without kernels for cards"};
  void* const library = Open(&why);
  if (library == nullptr) return Found{nullptr, "NVIDIA's driver does not load (" + why + ")"};
  if (const char* missing = Fill(library, &driver)) {
    return Found{nullptr, std::string("NVIDIA's driver is too old: it lacks ") + missing};
  }
  const std::string reason = WhyNot(driver);
  return reason.empty() ? Found{&driver, std::string()} : Found{nullptr, reason};
}

}  // namespace

const Found& FindDriver() {
  // Never freed: sessions may outlive what ends a process.
  static const Found* const found = new Found(Find());
  return *found;
}

std::string ErrorOf(const Driver& driver, const char* function, int result) {
  if (result == 0) return std::string();
  const char *name = nullptr, *text = nullptr;
  if (driver.GetErrorName(result, &name) != 0 || name == nullptr) name = "an unknown error";
  if (driver.GetErrorString(result, &text) != 0 || text == nullptr) text = "without a description";
  return std::string(function) + " failed with " + name + " (" + std::to_string(result) + ", " + text + ")";
}

std::shared_ptr<const LoadedKernels> LoadedKernels::For(const Driver& driver, Context context, const void* image,
                                                        std::string* error) {
  using Key = std::pair<Context, const void*>;
  static std::mutex mutex;
  static auto* const all = new std::map<Key, std::weak_ptr<const LoadedKernels>>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<const LoadedKernels>& known = (*all)[Key(context, image)];
  if (std::shared_ptr<const LoadedKernels> loaded = known.lock()) return loaded;
  // What frees a module is there before the module: `new` may throw.
  const std::shared_ptr<LoadedKernels> loaded(new LoadedKernels(driver, context));
  *error = ErrorOf(driver, "cuModuleLoadDataEx", driver.ModuleLoadDataEx(&loaded->module_, image, 0, nullptr, nullptr));
  if (!error->empty()) {
    loaded->module_ = nullptr;
    return nullptr;
  }
  known = loaded;
  return loaded;
}

LoadedKernels::~LoadedKernels() {
  if (module_ == nullptr) return;
  // Fails where the context has ended before, and its modules with it.
  const InContext in_context(driver_, context_);
  if (in_context.error().empty()) driver_.ModuleUnload(module_);
}

Function LoadedKernels::Find(const char* name, std::string* error) const {
  Function function = nullptr;
  *error = ErrorOf(driver_, "cuModuleGetFunction", driver_.ModuleGetFunction(&function, module_, name));
  if (!error->empty()) *error += " for " + std::string(name);
  return error->empty() ? function : nullptr;
}

std::unique_ptr<SharedWord> SharedWord::Make(const Driver& driver, Context context, std::string* error) {
  constexpr unsigned kPortable = 1, kDeviceMap = 2;  // for every context, and into the device's addresses
  std::unique_ptr<SharedWord> made(new SharedWord(driver, context));
  void* word = nullptr;
  *error = ErrorOf(driver, "cuMemHostAlloc", driver.MemHostAlloc(&word, sizeof(std::uint32_t), kPortable | kDeviceMap));
  if (!error->empty()) return nullptr;
  made->word_ = new (word) Word(0);
  std::uint64_t pointer = 0;
  *error = ErrorOf(driver, "cuMemHostGetDevicePointer", driver.MemHostGetDevicePointer(&pointer, word, 0));
  if (!error->empty()) return nullptr;
  made->on_device_ = reinterpret_cast<std::uint32_t*>(static_cast<std::uintptr_t>(pointer));
  return made;
}

SharedWord::~SharedWord() {
  if (word_ == nullptr) return;
  // The thread that ends a session may have no context. A context that has ended took the word with it.
  const InContext in_context(driver_, context_);
  if (in_context.error().empty()) driver_.MemFreeHost(word_);
}

std::uint32_t SharedWord::Take() const {
  return word_->load(std::memory_order_relaxed) == 0 ? 0 : word_->exchange(0);
}

}  // namespace cuda
}  // namespace onnx_philox
