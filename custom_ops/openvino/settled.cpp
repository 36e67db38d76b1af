// Nodes that the plugin runs: see settled.h.
#include "settled.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "consumers.h"
#include "known_shape.h"
#include "node.h"
#include "openvino/op/constant.hpp"
#include "openvino/op/convert.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino_types.h"
#include "refuse.h"

namespace onnx_philox {

namespace {

using ov::op::v0::Constant;
using ov::op::v0::Convert;

/// The shapes of a node's outputs, and nothing else.
class Shapes : public ov::op::Op {
 public:
  OPENVINO_OP("Shapes", "onnx_philox");
  void validate_and_infer_types() override {}
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector&) const override {
    return std::make_shared<Shapes>();
  }

  /// Most runs ask for the shapes of the run before.
  void Set(std::size_t output, const std::int64_t* dimensions, int rank) {
    ShapeSoFar& last = last_[output];
    if (last.rank == rank && std::equal(dimensions, dimensions + rank, last.dimension)) return;
    last.rank = rank;
    std::copy(dimensions, dimensions + rank, last.dimension);
    set_output_type(output, ov::element::dynamic, std::vector<ov::Dimension>(dimensions, dimensions + rank));
  }

 private:
  ShapeSoFar last_[3];
};

/// A thread's own for so many outputs, unless somebody still holds it: to make a node takes longer than a small draw.
std::shared_ptr<Shapes> FreeShapes(std::size_t outputs) {
  thread_local std::shared_ptr<Shapes> all[3];
  std::shared_ptr<Shapes>& last = all[outputs - 1];
  if (last == nullptr || last.use_count() != 1) last = std::make_shared<Shapes>();
  return last;
}

/// Whether these exist for one question only: all that copies a model holds its nodes.
bool AreForThisCallOnly(const ov::OutputVector& inputs) {
  constexpr long kThisAndTheVector = 2;
  return std::all_of(inputs.begin(), inputs.end(), [](const ov::Output<ov::Node>& input) {
    return input.get_node_shared_ptr().use_count() == kThisAndTheVector;
  });
}

/// A constant of its own with the same memory.
std::shared_ptr<ov::Node> Copy(const ov::Node& constant) {
  const std::shared_ptr<ov::Node> copy = constant.clone_with_new_inputs({});
  copy->set_friendly_name(constant.get_friendly_name());
  return copy;
}

}  // namespace

/// A node as the plugin runs it.
class Settled : public ov::op::Op {
 public:
  /// A node with the first outputs of another. Null if that one keeps a value that no constant gives.
  static std::shared_ptr<Settled> Of(const RandomOp& node, std::size_t outputs);

  const ov::DiscreteTypeInfo& get_type_info() const override { return whole_->get_type_info(); }
  void validate_and_infer_types() override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
  bool visit_attributes(ov::AttributeVisitor& visitor) override { return whole_->visit_attributes(visitor); }
  bool has_evaluate() const override { return true; }
  using ov::op::Op::evaluate;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override;
  bool can_constant_fold(const ov::OutputVector&) const override { return false; }

 private:
  bool Is(std::size_t port, Role role) const { return whole_->RoleOf(input_[port]) == role; }
  void ReadDirectly();
  void Add(std::size_t port, const KnownShape& shape, ElementType type, const void* data, Arguments* arguments) const;
  std::shared_ptr<ov::Node> ShapesFor(const ov::OutputVector& inputs) const;

  std::shared_ptr<RandomOp> whole_;  ///< its inputs are its own: copies of constants, and parameters of no model
  std::vector<int> input_;           ///< by port: which input of the whole node it is
  Arguments arguments_;              ///< as far as they are known before a run
  std::vector<std::size_t> asked_;   ///< the ports whose tensors decide the outputs' shapes
  bool is_apart_ = false;            ///< whether only `shape` is asked, and relates to no other input
  std::size_t state_ = 0;            ///< the port of `state`, if there is one
  ShapeSoFar next_;                  ///< the next state's shape, if all of it is known before a run
};

std::shared_ptr<Settled> Settled::Of(const RandomOp& node, std::size_t outputs) {
  ov::OutputVector all, read;
  std::vector<int> inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const int input = static_cast<int>(i);
    ov::Output<ov::Node> source = node.input_value(i);
    const bool is_constant = ov::is_type<Constant>(source.get_node());
    if (!is_constant && node.IsKnown(input)) return nullptr;
    if (is_constant) {
      all.push_back(Copy(*source.get_node()));
    } else {
      all.push_back(std::make_shared<ov::op::v0::Parameter>(source.get_element_type(), source.get_partial_shape()));
    }
    if (node.IsKnown(input) && node.IsNumber(input)) continue;
    read.push_back(source);
    inputs.push_back(input);
  }
  if (read.empty()) return nullptr;
  const auto settled = std::make_shared<Settled>();
  settled->whole_ = std::static_pointer_cast<RandomOp>(node.clone_with_new_inputs(all));
  settled->whole_->Set(Past::kSettled);
  settled->whole_->get_rt_info() = node.get_rt_info();
  settled->input_ = std::move(inputs);
  settled->set_friendly_name(node.get_friendly_name());
  settled->get_rt_info() = node.get_rt_info();
  settled->set_output_size(outputs);
  settled->set_arguments(read);
  settled->constructor_validate_and_infer_types();
  return settled;
}

/// Adds to the arguments what an input's shape says, and its value if that is a shape.
void Settled::Add(std::size_t port, const KnownShape& shape, ElementType type, const void* data, Arguments* arguments) const {
  const Known known = Is(port, Role::kShape) ? KnownSizes(shape, type, data)
                                             : shape.WithType(whole_->DeclaredType(input_[port], type));
  ThrowIf(CheckInput(whole_->op_, input_[port], known, whole_->attributes_, arguments));
}

/// Takes what the model declares i64 or u32 from before the plugin's Convert to i32, which costs a fifth of a small draw.
/// The plugin puts one there more than once.
void Settled::ReadDirectly() {
  for (std::size_t i = 0; i < input_.size(); ++i) {
    const auto convert = ov::as_type<Convert>(get_input_node_ptr(i));
    if (convert == nullptr || !ov::is_type<ov::op::v0::Parameter>(convert->get_input_node_ptr(0))) continue;
    if (whole_->IsNumber(input_[i]) && !Is(i, Role::kRowNumbers)) continue;
    const ElementType declared = Is(i, Role::kState) ? whole_->StateType() : whole_->declared_[input_[i]];
    if (ElementTypeOf(convert->get_input_element_type(0)) != declared) continue;
    input(i).replace_source_output(convert->input_value(0));
  }
}

void Settled::validate_and_infer_types() {
  ReadDirectly();
  arguments_ = whole_->arguments_;
  asked_.clear();
  const std::size_t state_output = static_cast<std::size_t>(whole_->op_.state_output());
  ov::PartialShape next = whole_->get_output_partial_shape(state_output);
  for (std::size_t i = 0; i < input_.size(); ++i) {
    if (Is(i, Role::kState)) {
      state_ = i;
      next = get_input_partial_shape(i);
    }
    if (whole_->IsKnown(input_[i])) continue;
    Add(i, KnownShape(get_input_partial_shape(i)), ElementTypeOf(get_input_element_type(i)), nullptr, &arguments_);
    if (Is(i, Role::kShape) || get_input_partial_shape(i).is_dynamic()) asked_.push_back(i);
  }
  ThrowIf(CheckTogether(whole_->op_, whole_->attributes_, arguments_));
  is_apart_ = asked_.size() == 1 && arguments_.states == 1 && IndexOf(whole_->op_, Role::kNumbers) < 0 &&
              IndexOf(whole_->op_, Role::kRowNumbers) < 0;
  set_output_type(0, whole_->get_output_element_type(0), whole_->ValuesShape(arguments_));
  for (std::size_t i = 1; i < get_output_size(); ++i) {
    set_output_type(i, whole_->get_output_element_type(i), i == state_output ? next : get_output_partial_shape(0));
  }
  next_ = ShapeSoFar();
  if (next.is_static()) {
    next_.rank = static_cast<int>(next.size());
    for (int i = 0; i < next_.rank; ++i) next_.dimension[i] = next[i].get_length();
  }
  if (whole_->IsComputedNarrower()) ConvertForConsumers(output(0), whole_->ComputedType());
}

/// The answer to the plugin's question for shapes; null if these inputs give none.
std::shared_ptr<ov::Node> Settled::ShapesFor(const ov::OutputVector& inputs) const {
  Arguments arguments = arguments_;
  for (const std::size_t port : asked_) {
    const auto* const constant = ov::as_type<const Constant>(inputs[port].get_node());
    if (constant == nullptr) return nullptr;
    const void* const data = constant->get_data_ptr();
    Add(port, KnownShape(inputs[port].get_partial_shape()), ElementTypeOf(constant->get_element_type()), data, &arguments);
  }
  if (!arguments.has_dimensions) return nullptr;
  if (!is_apart_) ThrowIf(CheckTogether(whole_->op_, whole_->attributes_, arguments));
  const Dimensions& dimensions = arguments.dimensions;
  const Memory memory = MemoryFor(static_cast<std::uint64_t>(dimensions.bytes));
  ThrowIf(CheckMemory(whole_->op_, dimensions, whole_->attributes_.output, memory));
  const auto shapes = FreeShapes(get_output_size());
  const std::size_t state_output = static_cast<std::size_t>(whole_->op_.state_output());
  for (std::size_t i = 0; i < get_output_size() && i < state_output; ++i) {
    shapes->Set(i, dimensions.dimension, dimensions.rank);
  }
  if (get_output_size() <= state_output) return shapes;
  if (next_.rank != Known::kUnknownRank) {
    shapes->Set(state_output, next_.dimension, next_.rank);
  } else {
    const KnownShape next(inputs[state_].get_partial_shape());
    shapes->Set(state_output, next.WithType(ElementType::kU32).dimensions, next.rank());
  }
  return shapes;
}

std::shared_ptr<ov::Node> Settled::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  if (AreForThisCallOnly(inputs)) {
    if (auto shapes = ShapesFor(inputs)) return shapes;
  }
  ov::OutputVector all;
  for (const ov::Output<ov::Node>& own : whole_->input_values()) {
    all.push_back(ov::is_type<Constant>(own.get_node()) ? Copy(*own.get_node())->output(0) : own);
  }
  for (std::size_t i = 0; i < input_.size(); ++i) {
    const std::size_t input = static_cast<std::size_t>(input_[i]);
    const ov::element::Type& type = whole_->get_input_element_type(input);
    all[input] = inputs[i];
    if (inputs[i].get_element_type() != type) all[input] = std::make_shared<Convert>(inputs[i], type);
  }
  return whole_->clone_with_new_inputs(all);
}

bool Settled::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  RandomOp::Tensors tensors = {};
  for (std::size_t i = 0; i < input_.size() && i < inputs.size(); ++i) tensors[input_[i]] = &inputs[i];
  return whole_->Run(outputs, tensors, /*is_folded=*/false);
}

bool IsSettled(const ov::Node& node) { return dynamic_cast<const Settled*>(&node) != nullptr; }

void Settle(RandomOp& node) {
  std::size_t outputs = 0;  // up to the last one that is read
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    if (!node.output(i).get_target_inputs().empty()) outputs = i + 1;
  }
  const auto settled = outputs == 0 ? nullptr : Settled::Of(node, outputs);
  for (std::size_t i = 0; settled != nullptr && i < outputs; ++i) node.output(i).replace(settled->output(i));
}

}  // namespace onnx_philox
