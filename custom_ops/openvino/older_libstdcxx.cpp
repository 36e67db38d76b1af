// What headers of newer GCCs ask of the C and C++ libraries, and those of older systems lack: with it, what GCC 12 builds
// runs on glibc 2.28 with GCC 8's libstdc++, where OpenVINO's own wheel runs. Only wheels are built with it
// (ONNX_PHILOX_OLDER_LIBSTDCXX); everything here stays inside the library.
#include <ios>
#include <new>
#include <sstream>

#define ONNX_PHILOX_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

/// glibc 2.32. A shared_ptr counts without atomic operations where it is true; false is always safe.
ONNX_PHILOX_HIDDEN char __libc_single_threaded = 0;

/// GLIBCXX_3.4.29: std::__throw_bad_array_new_length(), for containers of more elements than memory can have.
[[noreturn]] ONNX_PHILOX_HIDDEN void _ZSt28__throw_bad_array_new_lengthv() { throw std::bad_array_new_length(); }

/// GLIBCXX_3.4.26: std::ostringstream's constructor without arguments.
ONNX_PHILOX_HIDDEN void _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev(std::ostringstream* self) {
  new (self) std::ostringstream(std::ios_base::out);
}
}
