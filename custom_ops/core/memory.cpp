// The memory that this process can still get: see memory.h.
#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "operators_table.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace onnx_philox {

namespace {

std::uint64_t Minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

#if defined(__linux__)

/// The text of a file; empty if there is none.
std::string Read(const std::string& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return text;
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  std::fclose(file);
  return text;
}

/// The number at text[begin], or `otherwise`.
std::uint64_t NumberAt(const std::string& text, std::size_t begin, std::uint64_t otherwise) {
  begin = text.find_first_not_of(" \t", begin);
  if (begin == std::string::npos || text[begin] < '0' || text[begin] > '9') return otherwise;  // "max"
  return std::strtoull(text.c_str() + begin, nullptr, 10);
}

/// The number after `key` at the beginning of a line, or `otherwise`.
std::uint64_t NumberOf(const std::string& text, const std::string& key, std::uint64_t otherwise) {
  for (std::size_t line = 0; line < text.size();) {
    if (text.compare(line, key.size(), key) == 0) return NumberAt(text, line + key.size(), otherwise);
    const std::size_t end = text.find('\n', line);
    if (end == std::string::npos) break;
    line = end + 1;
  }
  return otherwise;
}

std::uint64_t Kilobytes(const std::string& text, const char* key) { return NumberOf(text, key, 0) * 1024; }

/// The files in which a version of control groups keeps a group's limit and use.
struct GroupFiles {
  const char* mount;
  const char* limits[2];  ///< null: no more
  const char* usage;
  const char* reclaimable[3];  ///< keys of memory.stat; null: no more
};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory",
                                  {"memory.limit_in_bytes", nullptr},
                                  "memory.usage_in_bytes",
                                  {"total_inactive_file ", "total_active_file ", nullptr}};
// Above memory.high the kernel slows a group down until it hardly moves.
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup",
                                  {"memory.max", "memory.high"},
                                  "memory.current",
                                  {"inactive_file ", "active_file ", "slab_reclaimable "}};

/// What the group in `folder` leaves.
std::uint64_t FreeInGroup(const std::string& folder, const GroupFiles& files) {
  std::uint64_t limit = kNoLimit;
  for (const char* name : files.limits) {
    if (name != nullptr) limit = std::min(limit, NumberAt(Read(folder + "/" + name), 0, kNoLimit));
  }
  if (limit == kNoLimit) return kNoLimit;
  const std::string stat = Read(folder + "/memory.stat");
  std::uint64_t used = NumberAt(Read(folder + "/" + files.usage), 0, 0);
  for (const char* key : files.reclaimable) {
    if (key != nullptr) used = Minus(used, NumberOf(stat, key, 0));
  }
  return Minus(limit, used);
}

/// What the group at `path` and those above it leave.
std::uint64_t FreeInGroups(const std::string& mount, std::string path, const GroupFiles& files) {
  // The path lies outside the mount, so only the mounted group can be read.
  if (path.find("/..") != std::string::npos || path == "/") path.clear();
  std::uint64_t free = kNoLimit;
  for (;;) {
    // A container does not have the groups of the host's path; its own group is the mounted one.
    free = std::min(free, FreeInGroup(mount + path, files));
    if (path.empty()) return free;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

/// The same for all groups in /proc/self/cgroup; its lines are "number:controllers:/path".
std::uint64_t FreeInGroups(const std::string& root) {
  const std::string groups = Read(root + "/proc/self/cgroup");
  std::uint64_t free = kNoLimit;
  for (std::size_t line = 0; line < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', line), groups.size());
    const std::size_t first = std::min(groups.find(':', line), end), second = groups.find(':', first + 1);
    if (second < end) {
      const std::string controllers = "," + groups.substr(first + 1, second - first - 1) + ",";
      const std::string path = groups.substr(second + 1, end - second - 1);
      const bool is_version1 = controllers.find(",memory,") != std::string::npos;
      if (is_version1 || controllers == ",,") {
        const GroupFiles& files = is_version1 ? kVersion1 : kVersion2;
        free = std::min(free, FreeInGroups(root + files.mount, path, files));
      }
    }
    line = end + 1;
  }
  return free;
}

#endif  // __linux__

#if !defined(_WIN32)

/// What is left of a limit of setrlimit.
template <class Resource>
std::uint64_t Left(Resource resource, std::uint64_t used) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return Minus(static_cast<std::uint64_t>(limit.rlim_cur), used);
}

#endif

}  // namespace

Memory FindMemory(const char* root) {
  Memory memory;
#if defined(_WIN32)
  static_cast<void>(root);
  MEMORYSTATUSEX status;
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status)) memory.free = static_cast<std::uint64_t>(status.ullTotalPhys);
#else
  std::uint64_t mapped = 0, data = 0;
#if defined(__linux__)
  const std::string folder = root, status = Read(folder + "/proc/self/status");
  mapped = Kilobytes(status, "VmSize:");
  data = Kilobytes(status, "VmData:");
  memory.held = Kilobytes(status, "RssAnon:");
  memory.free = FreeInGroups(folder);
  const std::uint64_t available = Kilobytes(Read(folder + "/proc/meminfo"), "MemAvailable:");
  if (available != 0) memory.free = std::min(memory.free, available);
  const bool is_known = available != 0;
#else
  static_cast<void>(root);
  const bool is_known = false;
#endif
  const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
  if (!is_known && page > 0 && pages > 0) {
    const std::uint64_t all = static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(pages);
    memory.free = std::min(memory.free, all);
  }
  memory.address = std::min(Left(RLIMIT_AS, mapped), Left(RLIMIT_DATA, data));
#endif
  return memory;
}

Memory MemoryFor(std::uint64_t bytes) { return bytes < kAlwaysThere ? Memory() : FindMemory(); }

std::uint64_t ResidentBytes(const void* data, std::uint64_t bytes) {
#if defined(__linux__)
  const long page_size = sysconf(_SC_PAGESIZE);
  if (page_size <= 0) return 0;
  const std::uintptr_t page = static_cast<std::uintptr_t>(page_size), mask = ~(page - 1);
  // Whole pages only.
  std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) & mask;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes)) & mask;
  std::uint64_t resident = 0;
  constexpr std::uintptr_t kPages = 4096;
  unsigned char states[kPages];
  while (begin < end) {
    const std::uintptr_t pages = std::min(kPages, (end - begin) / page);
    if (mincore(reinterpret_cast<void*>(begin), pages * page, states) != 0) return resident;
    for (std::uintptr_t i = 0; i < pages; ++i) resident += (states[i] & 1u) != 0 ? page : 0;
    begin += pages * page;
  }
  return resident;
#else
  static_cast<void>(data);
  return bytes;
#endif
}

}  // namespace onnx_philox
