// libFuzzer: the files in which a system says how much memory there is, of any bytes. A byte 1 parts one from the next.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "memory.h"

namespace {

const char* const kFiles[] = {"/proc/self/cgroup",
                              "/proc/self/status",
                              "/proc/meminfo",
                              "/sys/fs/cgroup/memory.max",
                              "/sys/fs/cgroup/memory.high",
                              "/sys/fs/cgroup/memory.current",
                              "/sys/fs/cgroup/memory.stat",
                              "/sys/fs/cgroup/a/memory.max",
                              "/sys/fs/cgroup/a/memory.current",
                              "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                              "/sys/fs/cgroup/memory/memory.usage_in_bytes"};

std::string Root() {
  const char* const temporary = std::getenv("TMPDIR");
  std::string root = std::string(temporary != nullptr ? temporary : "/tmp") + "/onnx_philox_fuzz_XXXXXX";
  if (mkdtemp(&root[0]) == nullptr) std::abort();
  for (const char* folder : {"/proc", "/proc/self", "/sys", "/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/a", "/sys/fs/cgroup/memory"}) {
    mkdir((root + folder).c_str(), 0700);
  }
  return root;
}

void RemoveAll(const std::string& root) {
  for (const char* file : kFiles) std::remove((root + file).c_str());
  for (const char* folder : {"/proc/self", "/proc", "/sys/fs/cgroup/a", "/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/sys/fs", "/sys", ""}) {
    std::remove((root + folder).c_str());
  }
}

const std::string& TheRoot() {
  static const std::string* const root = new std::string(Root());
  static const int is_removed_at_the_end = std::atexit([] { RemoveAll(TheRoot()); });
  static_cast<void>(is_removed_at_the_end);
  return *root;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::size_t begin = 0;
  for (const char* file : kFiles) {
    const std::string path = TheRoot() + file;
    if (begin > text.size()) {
      std::remove(path.c_str());
      continue;
    }
    const std::size_t end = std::min(text.find('\1', begin), text.size());
    std::FILE* const written = std::fopen(path.c_str(), "wb");
    if (written == nullptr) std::abort();
    std::fwrite(text.data() + begin, 1, end - begin, written);
    std::fclose(written);
    begin = end + 1;
  }
  onnx_philox::FindMemory(TheRoot().c_str());
  return 0;
}
