// The operators as OpenVINO nodes. See kRandomGenerator and kRandomUniform (core/operators.h) for their inputs, outputs
// and attributes; a node always has all outputs.
//
// What a constant `state`, `minval` or `maxval` holds is kept in the node (see constants.h), and goes through IR as the
// text attributes const_state, const_minval and const_maxval: decimal integers or hexadecimal floats, joined by ", ",
// empty for other inputs. The operators written in Python read and write the same.
//
// A cached compiled model (CACHE_DIR) is IR as well, saved when the plugin has already changed the types of inputs. There,
// and only there, a node has one attribute more, narrowed="true", and the declared types are not asked for again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "openvino/op/op.hpp"
#include "operators.h"
#include "state.h"

namespace onnx_philox {

/// The exact value of a constant input.
template <class T>
struct Captured {
  bool known = false;
  T value{};
  std::string text;  ///< as read from IR; turned into `value` once the output type is known
};

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

  /// OpenVINO would compute a node of constants when it compiles the model, and clamp its uint32 outputs to 2^31-1.
  bool can_constant_fold(const ov::OutputVector&) const override { return false; }

 protected:
  /// Where an operator has its inputs; kNone for those it does not have.
  struct Inputs {
    static constexpr std::size_t kNone = ~std::size_t{0};
    std::size_t shape, minval, maxval, state;
  };

  RandomOp(const Operator& op, Inputs at);

  /// Copies what this node knows into a fresh one of the same class, with other inputs.
  std::shared_ptr<ov::Node> CloneInto(std::shared_ptr<RandomOp> clone, const ov::OutputVector& inputs) const;

 private:
  bool Has(std::size_t index) const { return index < get_input_size(); }
  bool HasNarrowedInput() const;
  void CheckOwnAttributes();
  void ReadTexts();
  void ValidateShape(std::size_t index);
  void ValidateState(std::size_t index);
  void ValidateBound(const char* name, std::size_t index, Captured<std::uint64_t>* captured);
  void RefuseNarrowed(const char* name, std::size_t index, const Captured<std::uint64_t>& captured) const;
  void RefuseAltered(std::size_t index) const;
  void SetOutputs();
  Dimensions ReadShape(const ov::Tensor& tensor) const;
  State ReadState(const ov::Tensor& tensor) const;
  std::uint64_t ReadBound(const char* name, const ov::Tensor& tensor) const;

  const Operator& op_;
  const Inputs at_;

  std::string type_name_;  // the attribute `type` or `output_type`
  std::int64_t global_seed_ = 0;
  std::int64_t op_seed_ = 0;
  Attributes attributes_;  // the same, checked
  bool attributes_checked_ = false;

  Captured<State> state_;
  Captured<std::uint64_t> minval_;  // bits of the output type
  Captured<std::uint64_t> maxval_;
  Captured<Dimensions> shape_;  // not in IR, where a constant `shape` is exact

  // Inputs have been seen in their declared types: from now on the plugin may change them.
  bool is_validated_ = false;
};

/// Random bits from a state.
class RandomGenerator : public RandomOp {
 public:
  OPENVINO_OP("RandomGenerator", "extension");
  RandomGenerator();
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
};

/// Uniform random values; lives beside OpenVINO's built-in operator of that name.
class RandomUniform : public RandomOp {
 public:
  OPENVINO_OP("RandomUniform", "extension");
  RandomUniform();
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
};

}  // namespace onnx_philox
