// What the declaration of the operators names, in src/onnx_philox/_contract/operators.py.
// Made by custom_ops/core/make_operators.py; do not edit.
//
// Included by the per-instruction-set files: see philox.h.
#pragma once

namespace onnx_philox {

/// How words become elements. Random bits are a uniform draw of kBits.
enum class Distribution {kUniform, kNormal, kBernoulli, kCategorical, kExponential, kGamma, kPoisson, kDropout, kPermutation, kToken};
constexpr int kDistributions = 10;

/// The inputs that say what is drawn.
enum class Parameter {kMinval, kMaxval, kMean, kScale, kP, kLogits, kAlpha, kRate, kData, kRatio, kTemperature, kTopK, kTopP, kMinP};
constexpr int kParameters = 14;

/// What an input means, and so which check applies to it.
enum class Role {kState, kShape, kNumber, kNumbers, kLogits, kData, kRowNumbers};
constexpr int kRoles = 7;

/// Which attribute it is, and so what its value is for.
enum class AttributeRole {kType, kGlobalSeed, kOpSeed, kOutputType, kAlignment, kSampleSize, kReplacement};
constexpr int kAttributeRoles = 7;

}  // namespace onnx_philox
