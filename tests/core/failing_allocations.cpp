// Preloaded: lets allocation number n of the libraries under test fail, and those of nobody else.
//
//   c++ -O1 -shared -fPIC -o libfailing.so failing_allocations.cpp -ldl
//
// A library's allocation is one whose return address lies in it; one of the C++ library (a string's, an exception's) is that
// of whoever called the C++ library.
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void __libc_free(void*);
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

struct Range {
  std::uintptr_t from, to;
  bool is_cxx;  // the C++ library, which allocates for others
};

Range ranges[16];
int range_count = 0;
std::atomic<bool> counts{false};
std::atomic<std::int64_t> made{0};
std::int64_t first_failing = 0, last_failing = 0;
thread_local bool is_inside = false;

const Range* RangeOf(std::uintptr_t address) {
  for (int i = 0; i < range_count; ++i) {
    if (address >= ranges[i].from && address < ranges[i].to) return &ranges[i];
  }
  return nullptr;
}

_Unwind_Reason_Code Look(_Unwind_Context* context, void* is_ours) {
  const std::uintptr_t at = _Unwind_GetIP(context);
  if (reinterpret_cast<std::uintptr_t>(&RangeOf) == at) return _URC_NO_REASON;
  const Range* range = RangeOf(at);
  static Range self{};
  if (self.to == 0) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&Look), &info) == 0) std::abort();
    self.from = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    self.to = self.from + 0x10000;
  }
  if (range == nullptr) return at >= self.from && at < self.to ? _URC_NO_REASON : _URC_END_OF_STACK;
  if (range->is_cxx) return _URC_NO_REASON;
  *static_cast<bool*>(is_ours) = true;
  return _URC_END_OF_STACK;
}

/// What the libraries have allocated since failing_begin, and nobody has freed.
struct Block {
  void* memory;
  std::size_t bytes;
};
constexpr std::size_t kBlocks = std::size_t{1} << 16;
Block blocks[kBlocks];
std::atomic<std::int64_t> kept_bytes{0};
std::atomic<std::int64_t> kept_blocks{0};
std::atomic_flag is_locked = ATOMIC_FLAG_INIT;
void* const kFreed = &is_locked;

std::size_t PlaceOf(const void* memory) { return (reinterpret_cast<std::uintptr_t>(memory) >> 4) * 0x9E3779B1u % kBlocks; }

void* Remember(void* memory, std::size_t bytes) {
  if (memory == nullptr) return nullptr;
  while (is_locked.test_and_set(std::memory_order_acquire)) {
  }
  std::size_t at = PlaceOf(memory);
  while (blocks[at].memory != nullptr && blocks[at].memory != kFreed) at = (at + 1) % kBlocks;
  blocks[at] = {memory, bytes};
  kept_bytes += static_cast<std::int64_t>(bytes);
  ++kept_blocks;
  is_locked.clear(std::memory_order_release);
  return memory;
}

void Forget(const void* memory) {
  if (memory == nullptr || kept_blocks == 0) return;
  while (is_locked.test_and_set(std::memory_order_acquire)) {
  }
  for (std::size_t at = PlaceOf(memory); blocks[at].memory != nullptr; at = (at + 1) % kBlocks) {
    if (blocks[at].memory != memory) continue;
    blocks[at].memory = kFreed;
    kept_bytes -= static_cast<std::int64_t>(blocks[at].bytes);
    --kept_blocks;
    break;
  }
  is_locked.clear(std::memory_order_release);
}

enum class Whose { kOthers, kOurs, kFailing };

Whose WhoseIs(void* caller) {
  if (!counts.load(std::memory_order_relaxed) || is_inside) return Whose::kOthers;
  const Range* range = RangeOf(reinterpret_cast<std::uintptr_t>(caller));
  if (range == nullptr) return Whose::kOthers;
  if (range->is_cxx) {
    bool is_ours = false;
    is_inside = true;
    _Unwind_Backtrace(Look, &is_ours);
    is_inside = false;
    if (!is_ours) return Whose::kOthers;
  }
  const std::int64_t number = ++made;
  return number >= first_failing && number <= last_failing ? Whose::kFailing : Whose::kOurs;
}

/// Memory by `allocate`, unless this is an allocation that must fail.
template <class Allocate>
void* Allocated(void* caller, std::size_t bytes, Allocate allocate) {
  const Whose whose = WhoseIs(caller);
  if (whose == Whose::kFailing) {
    errno = ENOMEM;
    return nullptr;
  }
  return whose == Whose::kOurs ? Remember(allocate(), bytes) : allocate();
}

void* Allocated(void* caller, std::size_t bytes) {
  return Allocated(caller, bytes, [=] { return __libc_malloc(bytes == 0 ? 1 : bytes); });
}

void* Aligned(void* caller, std::size_t alignment, std::size_t bytes) {
  return Allocated(caller, bytes, [=] { return __libc_memalign(alignment, bytes == 0 ? 1 : bytes); });
}

void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

int AddRange(dl_phdr_info* info, std::size_t, void* names) {
  bool is_cxx = std::strstr(info->dlpi_name, "libstdc++") != nullptr;
  bool is_one = is_cxx;
  for (const char* const* name = static_cast<const char**>(names); *name != nullptr; ++name) {
    if (std::strcmp(*name, info->dlpi_name) == 0) is_one = true;
  }
  for (int i = 0; is_one && i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || range_count == 16) continue;
    const std::uintptr_t from = info->dlpi_addr + part.p_vaddr;
    ranges[range_count++] = {from, from + part.p_memsz, is_cxx};
  }
  return 0;
}

}  // namespace

#define CALLER __builtin_return_address(0)

void* operator new(std::size_t bytes) { return OrThrow(Allocated(CALLER, bytes)); }
void* operator new[](std::size_t bytes) { return OrThrow(Allocated(CALLER, bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Allocated(CALLER, bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return Allocated(CALLER, bytes); }
void* operator new(std::size_t bytes, std::align_val_t to) {
  return OrThrow(Aligned(CALLER, static_cast<std::size_t>(to), bytes));
}
void* operator new[](std::size_t bytes, std::align_val_t to) {
  return OrThrow(Aligned(CALLER, static_cast<std::size_t>(to), bytes));
}

extern "C" {

void* malloc(std::size_t bytes) { return Allocated(CALLER, bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return Allocated(CALLER, count * bytes, [=] { return __libc_calloc(count, bytes); });
}
void* realloc(void* old, std::size_t bytes) {
  void* const memory = Allocated(CALLER, bytes, [=] { return __libc_realloc(old, bytes); });
  if (memory != nullptr && memory != old) Forget(old);
  return memory;
}
void* aligned_alloc(std::size_t to, std::size_t bytes) { return Aligned(CALLER, to, bytes); }
int posix_memalign(void** memory, std::size_t to, std::size_t bytes) {
  void* const made = Aligned(CALLER, to, bytes);
  if (made != nullptr) *memory = made;
  return made == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  Forget(memory);
  __libc_free(memory);
}

// The files of the libraries that are under test, as the loader names them; a null pointer ends them.
void failing_of(const char** names) {
  range_count = 0;
  dl_iterate_phdr(AddRange, names);
}

// From here on, their allocations `first` to `last` fail, counted from 1.
void failing_begin(std::int64_t first, std::int64_t last) {
  made = kept_bytes = kept_blocks = 0;
  std::memset(static_cast<void*>(blocks), 0, sizeof(blocks));
  first_failing = first;
  last_failing = last;
  counts = true;
}

// Lets all be made again; how many were asked for.
std::int64_t failing_end() {
  counts = false;
  return made;
}

// The bytes that they have allocated since failing_begin and not freed yet.
std::int64_t failing_kept() { return kept_bytes; }
}
