// What a node knows of its constant inputs: see captured.h.
#include "captured.h"
#include "constants.h"
#include "half_precision.h"
#include "known_shape.h"
#include "node.h"
#include "openvino/op/util/precision_sensitive_attribute.hpp"
#include "plugin_names.h"
#include "refuse.h"

namespace onnx_philox {

/// Turns the constants' text from IR into values, once.
void RandomOp::ReadTexts() {
  for (int i = 0; i < op_.inputs; ++i) {
    Captured& captured = captured_[i];
    if (captured.text.empty()) continue;
    const ElementTypes types = TypesAt(i);
    const bool is_state = RoleOf(i) == Role::kState;
    const bool is_array = op_.input[i].is_array();
    const std::size_t words = static_cast<std::size_t>(attributes_.state_words());
    Captured read;
    const bool is_right = FromText(captured.text, types, &read) &&
                          (is_array || (is_state ? read.elements() % words == 0 : read.elements() == 1));
    if (!is_right) {
      const std::string names = TypeNames(op_.input[i], attributes_.output);
      const std::string wanted = is_state ? Worded(say::kWordsOfStates, {std::to_string(words), names})
                                          : Worded(is_array ? say::kNumbersOf : say::kOneNumberOf, {names});
      constexpr std::size_t kShown = 200;  // of thousands of numbers
      const std::string more = captured.text.size() > kShown ? "..." : "";
      Refuse(op_, AttributeText(std::string(kCaptured) + op_.input[i].name),
             ShowText(captured.text.substr(0, kShown) + more),
             wanted, say::kSaveAgain);
    }
    captured = read;
  }
}

void RandomOp::ValidateCaptured(int input) {
  const std::size_t index = static_cast<std::size_t>(input);
  const ov::Node& source = *get_input_node_ptr(index);
  const KnownShape shape(get_input_partial_shape(index));
  const std::int64_t elements = shape.elements();
  const ElementTypes types = TypesAt(input);
  Captured* const captured = &captured_[input];
  ElementType type = ArrivedType(input);
  const ConstantValue value = IsClamped(input) ? ConstantValue() : upstream_.ValueOf(source);
  if (IsClamped(input)) *captured = Captured();
  const bool was_captured = captured->known();
  const bool is_state = RoleOf(input) == Role::kState;
  if (is_state && type == StateType()) type = ElementType::kU32;

  const bool is_as_declared = type == captured->type && !IsDecompressed(source) && !Has(Past::kRounded);
  const bool is_as_long = was_captured && elements == static_cast<std::int64_t>(captured->elements());
  if (is_as_long && types.Has(captured->type) && !is_as_declared && IsNarrowing(captured->type, type) &&
      upstream_.IsConstant(source) && (is_state || MayHaveBecome(*captured, type, value.data))) {
    type = captured->type;
  } else if (value && types.Has(type)) {
    // The plugin validates a copy before each run whose shapes it does not know, so this allocates memory only once.
    if (!is_as_long || !captured->Is(type, value.data)) {
      *captured = Capture(type, value.data, static_cast<std::uint64_t>(elements));
    }
  } else {
    if (was_captured) *captured = Captured();
    if (!types.Has(type) && Has(Past::kValidated) && IsNarrowing(types.type[0], type)) type = types.type[0];
  }
  // No file changes integers.
  if (!is_state) KeepInFiles(input, captured->known());
  ThrowIf(CheckInput(op_, input, shape.WithType(type, captured->data()), attributes_, &arguments_));
}

/// Protects constants, also those upstream of an input, from being saved in f16. The plugin reads saved f16 constants
/// back in the declared type, and nothing distinguishes them from constants that replaced them.
void RandomOp::KeepInFiles(int input, bool is_captured) {
  const ov::Input<ov::Node> own = this->input(static_cast<std::size_t>(input));
  const ov::Input<ov::Node> in = MarkedInput(own, upstream_);
  if (in != own && ov::is_precision_sensitive(own)) ov::unmark_as_precision_sensitive(own);
  // On anything else, the mark would reach the weights of all nodes upstream.
  const bool is_kept = is_captured || upstream_.IsConstant(*in.get_source_output().get_node());
  if (is_kept == ov::is_precision_sensitive(in)) return;
  if (is_kept) {
    ov::mark_as_precision_sensitive(in);
  } else {
    ov::unmark_as_precision_sensitive(in);
  }
}

}  // namespace onnx_philox
