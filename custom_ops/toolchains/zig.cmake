# Builds for another system, or for older releases of this one, with the Clang, the C library and the libc++ that Zig
# brings (PyPI's package `ziglang`). libc++ goes into what is built, so nothing but the system's C library is needed.
# What shares C++ objects with OpenVINO needs its C++ library: this toolchain cannot build the extension.
#
#   cmake -S custom_ops -B build -DCMAKE_TOOLCHAIN_FILE=$PWD/custom_ops/toolchains/zig.cmake \
#         -DONNX_PHILOX_ZIG_TARGET=aarch64-linux-gnu.2.28
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ONNX_PHILOX_ZIG_TARGET)
find_program(ONNX_PHILOX_ZIG NAMES python-zig zig REQUIRED)

if(NOT ONNX_PHILOX_ZIG_TARGET MATCHES "^(x86_64|aarch64)-(linux|windows|macos)")
  message(FATAL_ERROR "ONNX_PHILOX_ZIG_TARGET must be a target of Zig for "
    "x86_64 or aarch64, and linux, windows or macos, such as aarch64-linux-gnu.2.28: got '${ONNX_PHILOX_ZIG_TARGET}'")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
set(systems_linux Linux)
set(systems_windows Windows)
set(systems_macos Darwin)
set(CMAKE_SYSTEM_NAME ${systems_${CMAKE_MATCH_2}})

set(CMAKE_C_COMPILER ${ONNX_PHILOX_ZIG} cc -target ${ONNX_PHILOX_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${ONNX_PHILOX_ZIG} c++ -target ${ONNX_PHILOX_ZIG_TARGET})
# CMake takes no archiver that is two words.
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${ONNX_PHILOX_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${ONNX_PHILOX_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${ONNX_PHILOX_ZIG}\" ranlib <TARGET>")
endforeach()

# Zig compiles its libraries when it first links for a target and an optimisation: CMake's own probes shall not.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# What is built is stripped as it is linked; no `strip` of this machine knows all formats.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
set(CMAKE_STRIP "" CACHE FILEPATH "" FORCE)

# Libraries and headers of this machine are not for the other.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
