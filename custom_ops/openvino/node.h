// The operators as OpenVINO nodes. See core/operators_table.h for their inputs, outputs and attributes; a node always has all
// outputs.
//
// A node keeps the values of its constant inputs other than `shape` (see captured.h). IR stores them as text
// attributes, const_state for `state`. The operators written in Python read and write the same.
//
// A cached compiled model (CACHE_DIR) is IR as well, saved when the plugin has already changed the types of inputs.
// Only there, a node has one more attribute, narrowed="true", and does not ask for the declared types again;
// narrowed="f16" says that the logits or data were declared f16. "true i32" and "f16 i32" say that the state was declared
// i32.
// A node that clamps its probabilities itself (see clamped.h) has clamped="nan to 0" or "nan to 1", and one that rounds its
// values for the plugin rounded="f16" or "bf16".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "captured.h"
#include "checks.h"
#include "clamped.h"
#include "constants.h"
#include "openvino/op/op.hpp"
#include "plugin_names.h"

namespace onnx_philox {

class Settled;

/// What the operators share.
class RandomOp : public ov::op::Op {
 public:
  /// Sets the attributes from an ONNX node; throws ov::Exception if they are wrong.
  void SetAttributes(const GivenAttributes& given);

  void validate_and_infer_types() override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override;
  bool has_evaluate() const override { return true; }
  using ov::op::Op::evaluate;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override;

  /// The tensors of a run, by input; null for one that is left out, or whose value the node keeps.
  using Tensors = const ov::Tensor* [kMaxInputs];

  /// OpenVINO would compute a node of constants when it compiles the model, and clamp its uint32 outputs to 2^31-1.
  bool can_constant_fold(const ov::OutputVector&) const override { return false; }

 protected:
  explicit RandomOp(const Operator& op);

  /// Copies what this node knows into a fresh one of the same class, with other inputs.
  std::shared_ptr<ov::Node> CloneInto(std::shared_ptr<RandomOp> clone, const ov::OutputVector& inputs) const;

 private:
  friend class Settled;
  struct Reading;

  bool Has(Past flag) const { return (past_ & static_cast<unsigned>(flag)) != 0; }
  void Set(Past flag, bool has = true) { past_ = (past_ & ~static_cast<unsigned>(flag)) | (has ? static_cast<unsigned>(flag) : 0); }
  bool HasInput(int input) const { return static_cast<std::size_t>(input) < get_input_size(); }
  Role RoleOf(int input) const { return op_.input[input].role; }
  ElementTypes TypesAt(int input) const { return TypesOf(op_.input[input], attributes_.output); }
  ElementType ArrivedType(int input) const;
  ElementType StateType() const;
  ElementType DeclaredType(int input, ElementType arrived) const;
  bool IsNumber(int input) const { return op_.input[input].is_parameter() && !IsData(input); }
  /// Data are never captured: they arrive in whichever type the plugin computes them.
  bool IsData(int input) const { return RoleOf(input) == Role::kData; }
  bool IsClamped(int input) const;
  bool HasNarrowedInput() const;
  bool HasNarrowedIntegers() const;
  std::string NarrowedText() const;
  void ReadNarrowed(const std::string& text);
  void CheckOwnAttributes();
  void ReadTexts();
  void NoteDeclared();
  void AddState();
  bool MeetHalf();
  void ValidateShape(int input, const Dimensions& before);
  void ValidateCaptured(int input);
  void KeepInFiles(int input, bool is_captured);
  void RefuseNarrowed(int input) const;
  void RefuseAltered(int input);
  void RefuseAlteredResult(int output, const ov::Tensor& drawn) const;
  void SetOutputs();
  ElementType RoundedBehind() const;
  ov::PartialShape ValuesShape(const Arguments& arguments) const;
  bool MaySettle() const;
  ov::element::Type ComputedType() const;
  bool IsComputedNarrower() const;
  bool IsKnown(int input) const;
  Known Read(int input, Reading* reading) const;
  bool Run(ov::TensorVector& outputs, const Tensors& inputs, bool is_folded) const;

  const Operator& op_;

  GivenAttributes given_;  // texts and integers only
  Attributes attributes_;  // the same, checked
  bool attributes_checked_ = false;

  Captured captured_[kMaxInputs];
  Arguments arguments_;  // as far as they are known before a run; p and logits point into captured_

  unsigned past_ = 0;  // of Past
  ElementType declared_[kMaxInputs] = {};
  // How it clamps its probabilities, where it has taken the numbers before a clamp of the model.
  Clamp clamp_ = Clamp::kNone;
  // The type of 16 bits to which the model rounds its floats right behind it (see consumers.h), as far as it is known.
  ElementType rounded_ = ElementType::kUnknown;
  // Valid for one validation: a model may change between two.
  Upstream upstream_;
};

/// The node of one operator; RandomUniform's lives beside OpenVINO's built-in operator of that name.
template <const Operator& op>
class NodeOf : public RandomOp {
 public:
  OPENVINO_OP(op.name, "extension");
  NodeOf() : RandomOp(op) {}
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override {
    return CloneInto(std::make_shared<NodeOf>(), inputs);
  }
};

}  // namespace onnx_philox
