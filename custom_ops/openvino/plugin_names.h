// What OpenVINO's plugin has names for, in src/onnx_philox/_contract/openvino_plugin.py.
// Made by custom_ops/core/make_operators.py; do not edit.
#pragma once

#include <cstddef>

#include "kinds.h"

namespace onnx_philox {

/// What a node has been through between the model and the runs of the plugin.
///
/// ::
///
///     made by a user                            read from IR: FROM_FILE
///       | validated                               | `narrowed` is set there
///       v                                         v
///     VALIDATED --(cloned)--> CLONED            VALIDATED, CLONED and ROUNDED at once
///                               |
///                               | f32 numbers arrive as f16:                ROUNDED
///                               | results are wider than what computes them: LEFT
///                               | integers arrive as i32 (native nodes):     SETTLED
///
/// A clone keeps what the node has been through.
///
/// VALIDATED: Inputs were seen in their declared types. Now the plugin may change them.
/// CLONED: The plugin changes clones only. In any other node, an input has its declared type.
/// ROUNDED: A constant of the declared type may have been rounded on the way: a number declared
///     f32 was seen as f16, or the plugin exported or cached the model, at any precision.
/// FROM_FILE: The model may have been transformed before it was saved. A clone forgets that once
///     OpenVINO's own mark (TRANSFORMED) is gone.
/// SIGNED_STATE: The state is declared int32, in which the plugin keeps variables: the same bits.
/// LEFT: Values left their graph before the plugin narrowed what reads them.
/// SETTLED: A settled node took the place of this one, or of the one that it was cloned from.
/// ASKED: A clone for one run's shapes, in which the plugin makes a constant of a computed state.
enum class Past : unsigned {
  kValidated = 1,
  kCloned = 2,
  kRounded = 4,
  kFromFile = 8,
  kSignedState = 16,
  kLeft = 32,
  kSettled = 64,
  kAsked = 128,
};

inline constexpr std::size_t kMaxElements = 4096;
inline constexpr char kNarrowed[] = "narrowed";
inline constexpr char kNarrowedAll[] = "true";
inline constexpr char kSignedStateMark[] = "i32";
inline constexpr char kCaptured[] = "const_";
inline constexpr char kClamped[] = "clamped";
inline constexpr char kRounded[] = "rounded";
inline constexpr char kNanTo0[] = "nan to 0";
inline constexpr char kNanTo1[] = "nan to 1";
inline constexpr char kTransformed[] = "fused_names_0";
inline constexpr char kStays[] = "can_be_folded";
inline constexpr char kExtension[] = "extension";
inline constexpr ov::element::Type_t kWords[] = {
    ov::element::Type_t::i32, ov::element::Type_t::i64, ov::element::Type_t::u32, ov::element::Type_t::u64
};
inline constexpr ov::element::Type_t kIntegers[] = {
    ov::element::Type_t::i32, ov::element::Type_t::i64, ov::element::Type_t::u32, ov::element::Type_t::u64,
    ov::element::Type_t::boolean, ov::element::Type_t::i8, ov::element::Type_t::i16, ov::element::Type_t::u8,
    ov::element::Type_t::u16
};
inline constexpr ov::element::Type_t kConditions[] = {ov::element::Type_t::boolean};
inline constexpr ov::element::Type_t kVariables[] = {ov::element::Type_t::i32};
inline constexpr ov::element::Type_t kAlteredInConstants[] = {
    ov::element::Type_t::f64, ov::element::Type_t::i64, ov::element::Type_t::u32, ov::element::Type_t::u64
};
inline constexpr ov::element::Type_t kNeverInRuns[] = {ov::element::Type_t::f64, ov::element::Type_t::i64};
inline constexpr ExactNode kExact[] = {
    {"Add", "d", kWords},
    {"BitwiseAnd", "d", kWords},
    {"BitwiseNot", "d", kWords},
    {"BitwiseOr", "d", kWords},
    {"BitwiseXor", "d", kWords},
    {"Broadcast", "dp", kIntegers},
    {"Concat", "d", kIntegers},
    {"Convert", "d", kWords},
    {"Gather", "dp", kIntegers},
    {"GatherElements", "dp", kIntegers},
    {"GatherND", "dp", kIntegers},
    {"Identity", "d", kIntegers},
    {"LogicalAnd", "d", kConditions},
    {"LogicalNot", "d", kConditions},
    {"LogicalOr", "d", kConditions},
    {"LogicalXor", "d", kConditions},
    {"Multiply", "d", kWords},
    {"Pad", "dppv", kIntegers},
    {"ReadValue", "d", kVariables},
    {"Reshape", "dp", kIntegers},
    {"Roll", "dp", kIntegers},
    {"ScatterElementsUpdate", "dpdp", kIntegers},
    {"ScatterNDUpdate", "dpd", kIntegers},
    {"ScatterUpdate", "dpdp", kIntegers},
    {"Select", "d", kIntegers},
    {"Slice", "dp", kIntegers},
    {"Split", "dp", kIntegers},
    {"Squeeze", "dp", kIntegers},
    {"StridedSlice", "dp", kIntegers},
    {"Subtract", "d", kWords},
    {"Tile", "dp", kIntegers},
    {"Transpose", "dp", kIntegers},
    {"Unsqueeze", "dp", kIntegers},
    {"VariadicSplit", "dp", kIntegers},
};
inline constexpr const char* kLogical[] = {"LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor"};
inline constexpr const char* kMerged[] = {"Add", "Multiply", "Subtract"};
inline constexpr const char* kEnds[] = {"DeviceSubgraph", "If", "Loop", "Parameter", "ShapeOf", "TensorIterator"};
inline constexpr const char* kNeverConstant[] = {
    "ReadValue", "RandomUniform", "Multinomial", "If", "Loop", "TensorIterator"
};
inline constexpr const char* kOnlyMove[] = {"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity"};
inline constexpr const char* kMoving[] = {
    "Broadcast", "Concat", "Gather", "GatherElements", "GatherND", "Identity", "Pad", "Reshape", "Roll",
    "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate", "Select", "Slice", "Split", "Squeeze",
    "StridedSlice", "Tile", "Transpose", "Unsqueeze", "VariadicSplit", "Convert", "ReverseSequence"
};

}  // namespace onnx_philox
