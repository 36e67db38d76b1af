// The operators, as src/onnx_philox/_contract/operators.py declares them. For the structures see
// declaration.h.
// Made by custom_ops/core/make_operators.py; do not edit.
#pragma once

#include "declaration.h"
#include "state.h"

namespace onnx_philox {

inline constexpr char kDomain[] = "onnx_philox";
inline constexpr int kOpsetVersion = 1;
inline constexpr int kMaxRank = 8;
inline constexpr std::uint64_t kAlwaysThere = 67108864;
inline constexpr int kMaxInputs = 6;
inline constexpr int kTorchStateWords = 632;
inline constexpr double kLeastTorchExponent = -103.9;
inline constexpr std::int64_t kLargeTorchPermutation = 214748364;
static_assert(kStateWords == 6, "as the declaration says");

// What refusals say is allowed.
inline constexpr char kStateShapeRule[] =
    "[6], or [1, ..., 1, 6] up to rank 8, or [B, 6], a state for each row of the output";
inline constexpr char kTorchStateShapeRule[] =
    "[632], or [1, ..., 1, 632] up to rank 8, or [B, 632], a state for each row of the output";
inline constexpr char kStateRowsRule[] = "one state for all of the output, or one for each of its rows";
inline constexpr char kRankRule[] = "of 0 to 8 dimensions";

/// Those of all operators, and of ONNX's random ones.
inline constexpr AttributeName kAttributeNames[] = {
    {"alignment", nullptr},
    {"dtype", "type"},
    {"global_seed", nullptr},
    {"high", nullptr},
    {"low", nullptr},
    {"mean", nullptr},
    {"op_seed", nullptr},
    {"output_type", nullptr},
    {"ratio", nullptr},
    {"replacement", nullptr},
    {"sample_size", nullptr},
    {"scale", nullptr},
    {"seed", "op_seed"},
    {"type", nullptr},
};

namespace table {

inline constexpr ElementType kF32[] = {ElementType::kF32};
inline constexpr ElementType kF32F16BF16[] = {ElementType::kF32, ElementType::kF16, ElementType::kBF16};
inline constexpr ElementType kF32F16BF16F64[] = {ElementType::kF32, ElementType::kF16, ElementType::kBF16, ElementType::kF64};
inline constexpr ElementType kF32F16F64[] = {ElementType::kF32, ElementType::kF16, ElementType::kF64};
inline constexpr ElementType kF32F64[] = {ElementType::kF32, ElementType::kF64};
inline constexpr ElementType kI64[] = {ElementType::kI64};
inline constexpr ElementType kI64I32[] = {ElementType::kI64, ElementType::kI32};
inline constexpr ElementType kU32[] = {ElementType::kU32};

inline constexpr Limits kLimits0[kOutputTypes] = {{0x0u, 0x0u}, {0x800000u, 0xff7fffffu}, {0x400u, 0xfbffu}, {0x80u, 0xff7fu}, {0x10000000000000u, 0xffefffffffffffffu}, {0x0u, 0xffffffffu}, {0x0u, 0xffffffffffffffffu}, {0x0u, 0x0u}};
inline constexpr Limits kLimits1[kOutputTypes] = {{0x0u, 0x0u}, {0x800000u, 0xff7fffffu}, {0x400u, 0xfbffu}, {0x80u, 0xff7fu}, {0x10000000000000u, 0xffefffffffffffffu}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits2[kOutputTypes] = {{0x0u, 0x0u}, {0x7fffffffu, 0xbf800004u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x7fffffffffffffffu, 0xbff0000000000004u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits3[kOutputTypes] = {{0x0u, 0x0u}, {0x80000001u, 0xff7fffffu}, {0x8001u, 0xfbffu}, {0x8001u, 0xff7fu}, {0x8000000000000001u, 0xffefffffffffffffu}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits4[kOutputTypes] = {{0x0u, 0x0u}, {0x80000001u, 0xd8800000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x8000000000000001u, 0xc310000000000000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits5[kOutputTypes] = {{0x0u, 0x0u}, {0x7fffffffu, 0xce800000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x7fffffffffffffffu, 0xc1d0000000000000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits6[kOutputTypes] = {{0x0u, 0x0u}, {0x7fffffffu, 0xbf800000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x7fffffffffffffffu, 0xbff0000000000000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits7[kOutputTypes] = {{0x0u, 0x0u}, {0x7fffffffu, 0xff7fffffu}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits8[kOutputTypes] = {{0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x8000000000000000u, 0xffffffffffffffffu}, {0x0u, 0x0u}};
inline constexpr Limits kLimits9[kOutputTypes] = {{0x0u, 0x0u}, {0x80000001u, 0xbf800000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};
inline constexpr Limits kLimits10[kOutputTypes] = {{0x0u, 0x0u}, {0x7fffffffu, 0xbf800000u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}, {0x0u, 0x0u}};

inline constexpr const char* kTypePhilox4x3210[] = {"philox4x32_10"};
inline constexpr const char* kOutputTypeI32I64F16Bf16F32F64[] = {"i32", "i64", "f16", "bf16", "f32", "f64"};
inline constexpr OutputType kOutputTypeI32I64F16Bf16F32F64s[] = {OutputType::kI32, OutputType::kI64, OutputType::kF16, OutputType::kBF16, OutputType::kF32, OutputType::kF64};
inline constexpr const char* kAlignmentTensorflowPytorch[] = {"tensorflow", "pytorch"};
inline constexpr const char* kOutputTypeF16Bf16F32F64[] = {"f16", "bf16", "f32", "f64"};
inline constexpr OutputType kOutputTypeF16Bf16F32F64s[] = {OutputType::kF16, OutputType::kBF16, OutputType::kF32, OutputType::kF64};
inline constexpr const char* kOutputTypeI32I64[] = {"i32", "i64"};
inline constexpr OutputType kOutputTypeI32I64s[] = {OutputType::kI32, OutputType::kI64};
inline constexpr const char* kOutputTypeF32F64[] = {"f32", "f64"};
inline constexpr OutputType kOutputTypeF32F64s[] = {OutputType::kF32, OutputType::kF64};
inline constexpr const char* kOutputTypeI64I32[] = {"i64", "i32"};
inline constexpr OutputType kOutputTypeI64I32s[] = {OutputType::kI64, OutputType::kI32};

inline constexpr AttributeDeclaration kAttribute0 = {"type", AttributeRole::kType, false, true, "philox4x32_10", 1, kTypePhilox4x3210, nullptr, 0, 0, INT64_MAX, "'philox4x32_10'"};
inline constexpr AttributeDeclaration kAttribute1 = {"global_seed", AttributeRole::kGlobalSeed, true, true, nullptr, 0, nullptr, nullptr, 0, 0, INT64_MAX, "an integer from 0 to 2^63-1"};
inline constexpr AttributeDeclaration kAttribute2 = {"op_seed", AttributeRole::kOpSeed, true, true, nullptr, 0, nullptr, nullptr, 0, 0, INT64_MAX, "an integer from 0 to 2^63-1"};
inline constexpr AttributeDeclaration kAttribute3 = {"output_type", AttributeRole::kOutputType, false, true, nullptr, 6, kOutputTypeI32I64F16Bf16F32F64, kOutputTypeI32I64F16Bf16F32F64s, 0, 0, INT64_MAX, "'i32', 'i64', 'f16', 'bf16', 'f32' or 'f64'"};
inline constexpr AttributeDeclaration kAttribute4 = {"alignment", AttributeRole::kAlignment, false, false, "tensorflow", 2, kAlignmentTensorflowPytorch, nullptr, 0, 0, INT64_MAX, "'tensorflow' or 'pytorch'"};
inline constexpr AttributeDeclaration kAttribute5 = {"output_type", AttributeRole::kOutputType, false, true, nullptr, 4, kOutputTypeF16Bf16F32F64, kOutputTypeF16Bf16F32F64s, 0, 0, INT64_MAX, "'f16', 'bf16', 'f32' or 'f64'"};
inline constexpr AttributeDeclaration kAttribute6 = {"sample_size", AttributeRole::kSampleSize, false, true, nullptr, 0, nullptr, nullptr, 1, 1, INT64_MAX, "an integer from 1 to 2^63-1"};
inline constexpr AttributeDeclaration kAttribute7 = {"output_type", AttributeRole::kOutputType, false, true, "i32", 2, kOutputTypeI32I64, kOutputTypeI32I64s, 0, 0, INT64_MAX, "'i32' or 'i64'"};
inline constexpr AttributeDeclaration kAttribute8 = {"replacement", AttributeRole::kReplacement, false, true, nullptr, 0, nullptr, nullptr, 1, 0, 1, "0 or 1"};
inline constexpr AttributeDeclaration kAttribute9 = {"output_type", AttributeRole::kOutputType, false, true, nullptr, 2, kOutputTypeF32F64, kOutputTypeF32F64s, 0, 0, INT64_MAX, "'f32' or 'f64'"};
inline constexpr AttributeDeclaration kAttribute10 = {"output_type", AttributeRole::kOutputType, false, true, nullptr, 2, kOutputTypeI32I64, kOutputTypeI32I64s, 0, 0, INT64_MAX, "'i32' or 'i64'"};
inline constexpr AttributeDeclaration kAttribute11 = {"output_type", AttributeRole::kOutputType, false, true, "i64", 2, kOutputTypeI64I32, kOutputTypeI64I32s, 0, 0, INT64_MAX, "'i64' or 'i32'"};
inline constexpr AttributeDeclaration kAttribute12 = {"output_type", AttributeRole::kOutputType, false, true, "i64", 2, kOutputTypeI32I64, kOutputTypeI32I64s, 0, 0, INT64_MAX, "'i32' or 'i64'"};

inline constexpr InputDeclaration kRandomGeneratorInputs[] = {
    {"state", Role::kState, Parameter(), false, {1, kU32}, "u32", nullptr, nullptr, nullptr},
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomGeneratorAttributes[] = {kAttribute0, kAttribute1, kAttribute2};
inline constexpr InputDeclaration kRandomUniformInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"minval", Role::kNumber, Parameter::kMinval, false, {0, nullptr}, nullptr, kLimits0, "a finite number", "Pass a finite bound."},
    {"maxval", Role::kNumber, Parameter::kMaxval, false, {0, nullptr}, nullptr, kLimits0, "a finite number", "Pass a finite bound."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomUniformAttributes[] = {kAttribute3, kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomNormalInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"mean", Role::kNumber, Parameter::kMean, false, {0, nullptr}, nullptr, kLimits1, "a finite number", "Pass a finite mean."},
    {"scale", Role::kNumber, Parameter::kScale, false, {0, nullptr}, nullptr, kLimits1, "a finite number", "Pass a finite scale."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomNormalAttributes[] = {kAttribute5, kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomBernoulliInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"p", Role::kNumbers, Parameter::kP, false, {2, kF32F64}, "f32 or f64", kLimits2, "from 0 to 1, or at most 4 ulp above 1", "Pass probabilities."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomBernoulliAttributes[] = {kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomCategoricalInputs[] = {
    {"logits", Role::kLogits, Parameter::kLogits, false, {3, kF32F16F64}, "f32 or f16 or f64", nullptr, nullptr, nullptr},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomCategoricalAttributes[] = {kAttribute6, kAttribute7, kAttribute8, kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomExponentialInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"scale", Role::kNumber, Parameter::kScale, false, {0, nullptr}, nullptr, kLimits3, "a finite number above 0", "Pass a scale above 0: 1 / rate, if you have a rate."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomExponentialAttributes[] = {kAttribute5, kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomGammaInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"alpha", Role::kNumbers, Parameter::kAlpha, false, {2, kF32F64}, "f32 or f64", kLimits4, "a number above 0, at most 2^50", "Pass such numbers; near 2^50 a gamma is a normal of mean alpha."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomGammaAttributes[] = {kAttribute9, kAttribute1, kAttribute2};
inline constexpr InputDeclaration kRandomPoissonInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"rate", Role::kNumbers, Parameter::kRate, false, {2, kF32F64}, "f32 or f64", kLimits5, "0 to 2^30", "Pass such rates."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomPoissonAttributes[] = {kAttribute10, kAttribute1, kAttribute2};
inline constexpr InputDeclaration kRandomDropoutInputs[] = {
    {"data", Role::kData, Parameter::kData, false, {4, kF32F16BF16F64}, "f32 or f16 or bf16 or f64", nullptr, nullptr, nullptr},
    {"ratio", Role::kNumber, Parameter::kRatio, false, {2, kF32F64}, "f32 or f64", kLimits6, "from 0 to 1", "Pass the share of the elements to drop."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomDropoutAttributes[] = {kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomPermutationInputs[] = {
    {"shape", Role::kShape, Parameter(), false, {2, kI64I32}, "i64 or i32", nullptr, nullptr, nullptr},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomPermutationAttributes[] = {kAttribute11, kAttribute1, kAttribute2, kAttribute4};
inline constexpr InputDeclaration kRandomTokenInputs[] = {
    {"logits", Role::kLogits, Parameter::kLogits, false, {3, kF32F16BF16}, "f32 or f16 or bf16", nullptr, nullptr, nullptr},
    {"temperature", Role::kRowNumbers, Parameter::kTemperature, true, {1, kF32}, "f32", kLimits7, "a finite number, 0 or above", "Pass a temperature; 0 is greedy."},
    {"top_k", Role::kRowNumbers, Parameter::kTopK, true, {1, kI64}, "i64", kLimits8, "0 or above", "Pass how many tokens to keep; 0 keeps all."},
    {"top_p", Role::kRowNumbers, Parameter::kTopP, true, {1, kF32}, "f32", kLimits9, "above 0, at most 1", "Pass a share; 1 keeps all tokens."},
    {"min_p", Role::kRowNumbers, Parameter::kMinP, true, {1, kF32}, "f32", kLimits10, "from 0 to 1", "Pass a share; 0 keeps all tokens."},
    {"state", Role::kState, Parameter(), true, {1, kU32}, "u32", nullptr, nullptr, nullptr},
};
inline constexpr AttributeDeclaration kRandomTokenAttributes[] = {kAttribute12, kAttribute1, kAttribute2};

}  // namespace table

/// Random bits: the words of Philox4x32-10, as DirectML's DML_RANDOM_GENERATOR_OPERATOR_DESC draws them. The blocks are
/// those of counter, counter + 1, ... (128 bits, wrapping), four words each; the words of the last block that are not
/// needed are dropped.
inline constexpr Operator kRandomGenerator = {
    "RandomGenerator", Distribution::kUniform, {1, -1},
    2, table::kRandomGeneratorInputs,
    2, {{"bits", false, false, true, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomGeneratorAttributes,
    false, "input 'shape'",
    "state, shape",
    "type, global_seed, op_seed",
};

/// Uniform random values in [minval, maxval), as OpenVINO's RandomUniform-8 draws them with alignment TensorFlow.
/// Floats: u * (maxval - minval) + minval, each operation rounded to nearest even in the output type, which can round a
/// value up to maxval. Integers: the word (i64: two words) modulo (maxval - minval), plus minval.
inline constexpr Operator kRandomUniform = {
    "RandomUniform", Distribution::kUniform, {0, -1},
    4, table::kRandomUniformInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    4, table::kRandomUniformAttributes,
    false, "input 'shape'",
    "shape, minval, maxval, state (optional)",
    "output_type, global_seed, op_seed, alignment",
};

/// Normal random values, by the method of Box and Muller as TensorFlow uses it. Two uniforms u and v in [0, 1) give two
/// values, r * sin(2 pi v) and r * cos(2 pi v) in this order, with r = sqrt(-2 ln max(u, 1e-7)); an odd number of
/// values drops the last one. f16, bf16 and f32 are made of f32 uniforms (a word each), f64 of f64 uniforms (two words
/// each). Each value is rounded to the output type, then * scale, + mean, both rounded to nearest even in that type; a
/// product too large for it is infinite.
inline constexpr Operator kRandomNormal = {
    "RandomNormal", Distribution::kNormal, {0, -1},
    4, table::kRandomNormalInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    4, table::kRandomNormalAttributes,
    false, "input 'shape'",
    "shape, mean, scale, state (optional)",
    "output_type, global_seed, op_seed, alignment",
};

/// Booleans that are true with probability p: u < p, with a uniform u in [0, 1) for each element, an f32 one (a word)
/// where p is f32, an f64 one (two words) where p is f64. So p = 0 is never true, and p >= 1 always.
inline constexpr Operator kRandomBernoulli = {
    "RandomBernoulli", Distribution::kBernoulli, {0, 1},
    3, table::kRandomBernoulliInputs,
    2, {{"values", false, false, true, OutputType::kBool, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomBernoulliAttributes,
    false, "input 'shape'",
    "shape, p, state (optional)",
    "global_seed, op_seed, alignment",
};

/// Indices of classes, drawn by unnormalised log-probabilities, as ONNX Multinomial means it. For each row, in f64: w =
/// exp(logits - the row's maximum), summed from left to right. For each sample, row by row, a uniform u in [0, 1) of
/// two words: the first class whose running sum is greater than u * the last sum. With replacement 0, a class is drawn
/// once at most: a uniform u of two words for each class, row by row; the sample_size classes of a weight above 0 with
/// the smallest -ln(1 - u) / w, in ascending order.
inline constexpr Operator kRandomCategorical = {
    "RandomCategorical", Distribution::kCategorical, {2, -1},
    2, table::kRandomCategoricalInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    6, table::kRandomCategoricalAttributes,
    false, "the output",
    "logits, state (optional)",
    "sample_size, output_type, replacement, global_seed, op_seed, alignment",
};

/// Exponential random values: waiting times whose mean is `scale`. f16, bf16 and f32: a word x gives -ln((x + 0.5) /
/// 2^32); f64: two words give -ln((X + 0.5) / 2^52), with X the 52 bits that RandomUniform makes an f64 of. The
/// logarithm is computed in f64 and rounded once to the output type, then * scale, rounded to nearest even in that
/// type; a product too large for it is infinite.
inline constexpr Operator kRandomExponential = {
    "RandomExponential", Distribution::kExponential, {0, -1},
    3, table::kRandomExponentialInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    4, table::kRandomExponentialAttributes,
    false, "input 'shape'",
    "shape, scale, state (optional)",
    "output_type, global_seed, op_seed, alignment",
};

/// Gamma random values of the shape alpha and the scale 1, by the method of Marsaglia and Tsang, in f64. Element i owns
/// blocks 32 i to 32 i + 31, whatever it uses of them. With a = alpha, or alpha + 1 where alpha < 1, d = a - 1/3 and c
/// = 1 / sqrt(9 d): attempt t (0 to 15) reads block 2 t, two f64 uniforms u and v that make the normal x = r * cos(2 pi
/// v) of RandomNormal, and an f64 uniform w of words 0 and 1 of block 2 t + 1. With z = 1 + c x and y = z * z * z it is
/// accepted if y > 0 and ln(1 - w) < x * x / 2 + d * (1 - y + ln y), and the value is d * y; after the last attempt it
/// is d * y if y > 0, else d. Where alpha < 1 it is then multiplied by exp(ln(1 - w') / alpha), w' of words 2 and 3 of
/// block 1. The value is rounded to the output type.
inline constexpr Operator kRandomGamma = {
    "RandomGamma", Distribution::kGamma, {128, -1},
    3, table::kRandomGammaInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomGammaAttributes,
    false, "input 'shape'",
    "shape, alpha, state (optional)",
    "output_type, global_seed, op_seed",
};

/// Poisson random counts, in f64. Element i owns blocks 32 i to 32 i + 31, whatever it uses of them. rate < 10: u of
/// words 0 and 1 of the first, p_0 = exp(-rate), p_k = p_(k-1) * rate / k; the smallest k whose running sum is above u,
/// at most 1000. Else Hoermann's PTRS: attempt t (0 to 31) reads block t, U = u - 0.5 of words 0 and 1, V = 1 - v of
/// words 2 and 3, s = 0.5 - abs(U), k = floor((2 a / s + b) * U + rate + 0.43), with b = 0.931 + 2.53 sqrt(rate), a =
/// -0.059 + 0.02483 b, i = 1.1239 + 1.1328 / (b - 3.4) and q = 0.9277 - 3.6224 / (b - 2). It is accepted if s >= 0.07
/// and V <= q; else rejected if k < 0 or (s < 0.013 and V > s); else accepted if ln V + ln i - ln(a / s^2 + b) <= -rate
/// + k ln rate - ln k!; after the last attempt it is floor(rate).
inline constexpr Operator kRandomPoisson = {
    "RandomPoisson", Distribution::kPoisson, {128, -1},
    3, table::kRandomPoissonInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomPoissonAttributes,
    false, "input 'shape'",
    "shape, rate, state (optional)",
    "output_type, global_seed, op_seed",
};

/// Dropout, as ONNX means it in training mode: each element of the data is dropped with probability `ratio`, and what
/// is kept is scaled. An element is dropped where RandomBernoulli of p = `ratio`, of the data's shape, would be true:
/// it becomes +0, also if it is infinite or NaN. The others are multiplied by 1 / (1 - ratio), which is computed once,
/// in f32 (f64 where the data are f64), and rounded to the data's type. A ratio of 1 keeps nothing.
inline constexpr Operator kRandomDropout = {
    "RandomDropout", Distribution::kDropout, {0, 1},
    3, table::kRandomDropoutInputs,
    3, {{"output", false, false, false, OutputType::kBits, 0}, {"mask", true, false, true, OutputType::kBool, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomDropoutAttributes,
    false, "the output",
    "data, ratio, state (optional)",
    "global_seed, op_seed, alignment",
};

/// Random permutations of the integers from 0 to n - 1: a row for each m of a shape [m, n], or one of a shape [n]. Each
/// element of a row takes two words x0 and x1, which are its 64-bit key x1 * 2^32 + x0, row after row. A row is the
/// ascending order of its keys: the position of the smallest key first, and of equal keys that of the first.
inline constexpr Operator kRandomPermutation = {
    "RandomPermutation", Distribution::kPermutation, {2, -1},
    2, table::kRandomPermutationInputs,
    2, {{"values", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    4, table::kRandomPermutationAttributes,
    true, "input 'shape'",
    "shape, state (optional)",
    "output_type, global_seed, op_seed, alignment",
};

/// The next token of each row, by its logits and the filters of a sampler. For each row, in f64: w = exp((logits - the
/// row's maximum) / temperature). The filters come in the order of Hugging Face's: the top_k largest w in descending
/// order (of equal ones, the lower index first); of these the shortest prefix in that order whose running sum, from
/// left to right, reaches top_p times the last running sum; of these the ones with w >= min_p (the largest w is 1). A
/// filter that is left out, top_k 0 or at least the number of classes, top_p 1 and min_p 0 remove nothing. A uniform u
/// in [0, 1) of two words for each row then chooses among what is kept: in the order of the indices, the first whose
/// running sum is greater than u * the last sum. Temperature 0 is the largest logit, of equal ones the lowest index,
/// and takes the same words.
inline constexpr Operator kRandomToken = {
    "RandomToken", Distribution::kToken, {2, -1},
    6, table::kRandomTokenInputs,
    2, {{"token", false, false, false, OutputType::kBits, -1}, {"next_state", true, true, true, OutputType::kBits, -1}},
    3, table::kRandomTokenAttributes,
    false, "the output",
    "logits, temperature (optional), top_k (optional), top_p (optional), min_p (optional), state (optional)",
    "output_type, global_seed, op_seed",
};

inline constexpr int kOperators = 11;
inline constexpr const Operator* kAllOperators[kOperators] = {
    &kRandomGenerator,
    &kRandomUniform,
    &kRandomNormal,
    &kRandomBernoulli,
    &kRandomCategorical,
    &kRandomExponential,
    &kRandomGamma,
    &kRandomPoisson,
    &kRandomDropout,
    &kRandomPermutation,
    &kRandomToken,
};

}  // namespace onnx_philox
