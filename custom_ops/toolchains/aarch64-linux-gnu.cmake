# Builds for 64-bit ARM on another Linux machine, and runs what it built in an emulator: `ctest` works as it does for
# this machine. Debian's packages for it: g++-aarch64-linux-gnu, libc6-arm64-cross, qemu-user.
#
#   cmake -S custom_ops -B build -DCMAKE_TOOLCHAIN_FILE=$PWD/custom_ops/toolchains/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Where the cross compiler's own libraries lie; the emulator looks for the loader there.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Libraries and headers of this machine are not for the other; OpenVINO_DIR says where its wheel is unpacked.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
