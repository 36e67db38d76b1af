// Preloaded: ends the process, or lets the disk be full, at change number n below a folder.
//
//   c++ -O1 -shared -fPIC -o libinterrupted.so interrupted_writes.cpp -ldl
//
// A change is a call that writes to a file there, or makes, renames, links or removes one. What is written at number n is
// written by half.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace {

enum How { kNothing = 0, kKill = 1, kFull = 2 };

char folder[PATH_MAX];
std::atomic<long> changes{0};
long at_change = 0;
std::atomic<int> how{kNothing};

template <class Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool IsBelow(const char* path) { return strncmp(path, folder, strlen(folder)) == 0; }

bool IsBelow(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return IsBelow(path);
}

/// Whether this change is the one; the process then ends here unless half of it is to be done first.
bool IsTheOne() {
  const long number = ++changes;
  return how == kFull ? number >= at_change : number == at_change;
}

[[noreturn]] void Kill() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/// 0, or -1 with the error of a full disk.
int Interrupted(bool is_below) {
  if (how == kNothing || !is_below || !IsTheOne()) return 0;
  if (how == kKill) Kill();
  errno = ENOSPC;
  return -1;
}

template <class Write>
ssize_t Written(int file, size_t bytes, Write write) {
  if (how == kNothing || !IsBelow(file) || !IsTheOne()) return write(bytes);
  const ssize_t half = bytes > 1 ? write(bytes / 2) : 0;
  if (how == kKill) Kill();
  if (half > 0) return half;
  errno = ENOSPC;
  return -1;
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t bytes) {
  return Written(file, bytes, [=](size_t count) { return syscall(SYS_write, file, data, count); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
  return Written(file, bytes, [=](size_t count) { return syscall(SYS_pwrite64, file, data, count, at); });
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t at) { return pwrite(file, data, bytes, at); }
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (how != kNothing && IsBelow(file)) {
    ssize_t all = 0;
    for (int i = 0; i < count; ++i) {
      const ssize_t one = write(file, parts[i].iov_base, parts[i].iov_len);
      if (one < 0) return all > 0 ? all : one;
      all += one;
      if (static_cast<size_t>(one) < parts[i].iov_len) return all;
    }
    return all;
  }
  return syscall(SYS_writev, file, parts, count);
}
int link(const char* from, const char* to) {
  return Interrupted(IsBelow(to)) != 0 ? -1 : Next<int (*)(const char*, const char*)>("link")(from, to);
}
int linkat(int a, const char* from, int b, const char* to, int flags) {
  using Function = int (*)(int, const char*, int, const char*, int);
  return Interrupted(IsBelow(to)) != 0 ? -1 : Next<Function>("linkat")(a, from, b, to, flags);
}
// A full disk lets files be renamed in a folder, and removed.
int rename(const char* from, const char* to) {
  if (how == kKill) Interrupted(IsBelow(to));
  return Next<int (*)(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) {
  if (how == kKill) Interrupted(IsBelow(path));
  return Next<int (*)(const char*)>("unlink")(path);
}
int rmdir(const char* path) {
  if (how == kKill) Interrupted(IsBelow(path));
  return Next<int (*)(const char*)>("rmdir")(path);
}
int mkdir(const char* path, mode_t mode) {
  return Interrupted(IsBelow(path)) != 0 ? -1 : Next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
int posix_fallocate(int file, off_t at, off_t bytes) {
  return Interrupted(IsBelow(file)) != 0 ? ENOSPC : Next<int (*)(int, off_t, off_t)>("posix_fallocate")(file, at, bytes);
}
int posix_fallocate64(int file, off64_t at, off64_t bytes) { return posix_fallocate(file, at, bytes); }
int ftruncate(int file, off_t bytes) {
  return Interrupted(IsBelow(file)) != 0 ? -1 : Next<int (*)(int, off_t)>("ftruncate")(file, bytes);
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0 && Interrupted(IsBelow(path)) != 0) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open(path, flags, mode);
}

// From here on, change number `number` (from 1) below the folder is the one: 1 ends the process, 2 is a full disk.
void interrupt_at(const char* below, long number, int what) {
  snprintf(folder, sizeof(folder), "%s", below);
  changes = 0;
  at_change = number;
  how = what;
}

// How many there were.
long interrupt_end() {
  how = kNothing;
  return changes;
}
}
