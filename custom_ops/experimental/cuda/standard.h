// What the kernels use of the C++ standard library, for NVRTC, which has none: make_ptx.py has each of its headers
// include this file.
#pragma once

namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long long;
using size_t = decltype(sizeof(0));
using uintptr_t = size_t;

struct string {};  // of errors, which no kernel words

template <bool kIs, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool kIs, class A, class B>
using conditional_t = typename conditional<kIs, A, B>::type;

template <class A, class B>
constexpr bool is_same_v = false;
template <class A>
constexpr bool is_same_v<A, A> = true;

template <class Signed>
struct make_unsigned;
template <>
struct make_unsigned<int16_t> {
  using type = uint16_t;
};
template <>
struct make_unsigned<int32_t> {
  using type = uint32_t;
};
template <>
struct make_unsigned<int64_t> {
  using type = uint64_t;
};
template <class Signed>
using make_unsigned_t = typename make_unsigned<Signed>::type;

using ::floor;
using ::memcpy;

[[noreturn]] inline void abort() {
  asm("trap;");
  for (;;) {
  }
}

}  // namespace std

using std::size_t;

#define UINT32_MAX 0xFFFFFFFFu
#define UINT64_MAX 0xFFFFFFFFFFFFFFFFull
#define FLT_EVAL_METHOD 0
