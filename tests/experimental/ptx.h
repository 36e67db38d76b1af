// What the C of ptx_to_c.py is written with.
#include <math.h>
#include <stdint.h>
#include <string.h>
uint64_t misaligned;
static inline float to_f32(uint32_t x) { float y; memcpy(&y, &x, 4); return y; }
static inline double to_f64(uint64_t x) { double y; memcpy(&y, &x, 8); return y; }
/* A NaN that a card computes in f16 or f32 keeps no payload. */
static inline uint32_t of_f32(float x) { uint32_t y; memcpy(&y, &x, 4); return x != x ? 0x7FFFFFFF : y; }
static inline _Float16 to_f16(uint16_t x) { _Float16 y; memcpy(&y, &x, 2); return y; }
static inline uint16_t of_f16(_Float16 x) { uint16_t y; memcpy(&y, &x, 2); return x != x ? 0x7FFF : y; }
static inline uint64_t of_f64(double x) { uint64_t y; memcpy(&y, &x, 8); return y; }
/* Pairs of float16. A sum or product in float is rounded once more to what is the rounded one. */
#define PAIRS(name, result)                                                                        \
  static inline uint32_t name##_f16x2(uint32_t a, uint32_t b) {                                    \
    uint32_t pair = 0;                                                                             \
    for (int i = 0; i < 32; i += 16) {                                                             \
      const float x = to_f16(a >> i), y = to_f16(b >> i);                                          \
      pair |= (uint32_t)of_f16((_Float16)(result)) << i;                                           \
    }                                                                                              \
    return pair;                                                                                   \
  }
PAIRS(add, x + y) PAIRS(mul, x * y)
static inline uint64_t at(uint64_t address, unsigned alignment) {
  if (address % alignment != 0) ++misaligned;
  return address;
}
#define MEMORY(type)                                                                                 \
  static inline type##_t load_##type(uint64_t a) { type##_t x; memcpy(&x, (void*)a, sizeof x); return x; } \
  static inline void store_##type(uint64_t a, type##_t x) { memcpy((void*)a, &x, sizeof x); }
MEMORY(uint8) MEMORY(uint16) MEMORY(uint32) MEMORY(uint64)
MEMORY(int8) MEMORY(int16) MEMORY(int32) MEMORY(int64)
#define SHIFTS(bits)                                                                                                  \
  static inline uint##bits##_t shl##bits(uint##bits##_t x, uint32_t n) { return n < bits ? x << n : 0; }              \
  static inline uint##bits##_t shr_u##bits(uint##bits##_t x, uint32_t n) { return n < bits ? x >> n : 0; }            \
  static inline int##bits##_t shr_s##bits(int##bits##_t x, uint32_t n) { return x >> (n < bits ? n : bits - 1); }
SHIFTS(16) SHIFTS(32) SHIFTS(64)
/* Numbers outside of the type become its nearest, a NaN 0. */
#define TRUNCATED(type, least, past)                                              \
  static inline type##_t truncated_##type(double x) {                             \
    return x != x ? 0 : x >= past ? (type##_t)(past - 1) : x <= least ? (type##_t)least : (type##_t)x; \
  }
TRUNCATED(uint32, 0.0, 0x1p32) TRUNCATED(int32, -0x1p31, 0x1p31)
static inline uint64_t truncated_uint64(double x) { return x != x || x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; }
static inline int64_t truncated_int64(double x) {
  return x != x ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}
static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t begin, uint32_t bits) {
  const uint64_t mask = (bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1) << begin;
  return (b & ~mask) | (a << begin & mask);
}
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t of = selector >> 4 * i & 15;
    uint32_t byte = both >> 8 * (of & 7) & 255;
    if (of & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
