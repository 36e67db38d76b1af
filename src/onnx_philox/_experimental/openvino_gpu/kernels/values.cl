// What each operator makes of words: the rules of custom_ops/core/kernels/rules.h and elementary.h, operation by operation.
// `a` and `b` are the operator's parameters, which the host prepares (`lowering.py`).

#define FRACTION_F32 0x007FFFFFu
#define ONE_F32 0x3F800000u
#define FOUR_F32 0x40800000u
#define FRACTION_F16 0x03FFu

// The coefficients of _numbers/coefficients.py.
#define SMALLEST_UNIFORM_F32 0x1.ad7f2ap-24f
#define SQRT_HALF_F32 0x1.6a09e6p-1f
#define MINUS_TWO_LN2_F32 -0x1.62e430p+0f
#define MAGIC_F32 0x1.8p+23f
#define LOGARITHM_F32 -0x1.5546a2p+0f, -0x1.a5f9f8p-1f
#define SINE_F32 0x1.921fb6p+2f, -0x1.4abbecp+5f, 0x1.466b22p+6f, -0x1.2f5a1ep+6f
#define COSINE_F32 -0x1.3bd3a0p+4f, 0x1.03b132p+6f, -0x1.4ea1aep+6f

// Whether an odd or even word of a pair.
#define IS_ODD(i) ((i) & 1u)

int bits(State state, uint i, int a, int b) { return word_at(state, i); }

int uniform_i32(State state, uint i, int minval, int width) { return word_at(state, i) % (uint)width + (uint)minval; }

float unit_f32(uint word) { return as_float((word & FRACTION_F32) | ONE_F32) - as_float(ONE_F32); }

float uniform_f32(State state, uint i, int minval, int width) {
  return unit_f32(word_at(state, i)) * as_float(width) + as_float(minval);
}

// A float32 rounded to float16. That of a sum or product of two float16 is their rounded sum or product.
ushort rounded_f16(float x) {
  ushort rounded;
  vstore_half_rte(x, 0, (half *)&rounded);
  return rounded;
}

// Of integers below 2^10, and the width as it is at that scale: exact until it is rounded.
ushort uniform_f16(State state, uint i, int minval, int width) {
  const ushort product = rounded_f16((float)(word_at(state, i) & FRACTION_F16) * (as_float(width) * 0x1p-10f));
  return rounded_f16(vload_half(0, (const half *)&product) + as_float(minval));
}

// `threshold` is the number of the 2^23 uniforms that are below p.
char bernoulli(State state, uint i, int threshold, int b) { return (int)(word_at(state, i) & FRACTION_F32) < threshold; }

// OpenCL lets a device be 2.5 ulp off in a quotient and 3 in a square root. Of the floats around it, the nearest to the exact
// result leaves the smallest remainder, which fma computes without error.
#define NEAREST 4
#ifndef ULPS_OFF // what a test adds
#define ULPS_OFF 0
#endif

float divided(float x, float y) {
  const int near = as_int(x / y) + ULPS_OFF;
  float best = as_float(near);
  float least = fabs(fma(-best, y, x));
  for (int step = 1; step <= NEAREST; ++step) {
    for (int side = -step; side <= step; side += 2 * step) {
      const float other = as_float(near + side);
      const float remainder = fabs(fma(-other, y, x));
      if (remainder < least) {
        best = other;
        least = remainder;
      }
    }
  }
  return x == 0.0f ? x : best;
}

float rooted(float x) {
  const int near = as_int(sqrt(x)) + ULPS_OFF;
  float best = as_float(near);
  float least = fabs(fma(-best, best, x));
  for (int step = 1; step <= NEAREST; ++step) {
    for (int side = -step; side <= step; side += 2 * step) {
      const float other = as_float(near + side);
      const float remainder = fabs(fma(-other, other, x));
      if (remainder < least) {
        best = other;
        least = remainder;
      }
    }
  }
  return best;
}

// -2 ln u, for positive normal numbers.
float minus_two_ln(float u) {
  const float logarithm[] = {LOGARITHM_F32};
  const int first = as_int(SQRT_HALF_F32);
  const int difference = as_int(u) - first;
  const float exponent = difference >> 23;
  const float f = as_float((difference & (int)FRACTION_F32) + first) - 1.0f;
  const float s = divided(f, f + 2.0f);
  const float z = s * s;
  const float inner = (logarithm[1] * z + logarithm[0]) * z;
  return s * (inner - 4.0f) + exponent * MINUS_TWO_LN2_F32;
}

float normal(State state, uint i, int mean, int scale) {
  const float sines[] = {SINE_F32}, cosines[] = {COSINE_F32};
  const uint4 block = philox(advanced(state, i / WORDS_PER_BLOCK));
  const float u = unit_f32(i & 2 ? block.z : block.x);
  const float r = rooted(minus_two_ln(fmax(u, SMALLEST_UNIFORM_F32)));

  // 4 + 4v; the quarter turns, plus 4, are in the low bits of `shifted`.
  const float quarters = as_float(((i & 2 ? block.w : block.y) & FRACTION_F32) | FOUR_F32);
  const float shifted = quarters + MAGIC_F32;
  const float t = (quarters - (shifted - MAGIC_F32)) * 0.25f;
  const float z = t * t;
  const float sine = t * (((sines[3] * z + sines[2]) * z + sines[1]) * z + sines[0]);
  const float cosine = ((cosines[2] * z + cosines[1]) * z + cosines[0]) * z + 1.0f;

  // The pair's second normal is a quarter turn further.
  const uint turn = as_uint(shifted) + IS_ODD(i);
  const uint sign = (turn & 2) << 30;
  const float standard = r * as_float(as_uint(turn & 1 ? cosine : sine) ^ sign);
  return standard * as_float(scale) + as_float(mean);
}
