// What the parts of the program share: checks that count, nodes of constants, and models evaluated and run.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "node.h"
#include "openvino/core/model.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/runtime/core.hpp"
#include "share.h"

/// Makes nodes of random attributes, inputs and tensors for so many seconds: right ones draw what the core's plain C++
/// kernels draw, wrong ones are refused in a sentence of four parts. Ends the program at the first that is neither.
void Fuzz(double seconds, std::uint64_t seed);

namespace program {

using namespace onnx_philox;
using ov::op::v0::Constant;

/// Runs the cases of precisions.cpp on the CPU plugin, on a core that knows the operators, and throws what failed. Returns
/// which precisions this processor really computes in.
std::string Precisions(ov::Core& core, const std::string& library);

inline int checks = 0;

inline void Check(bool ok, const std::string& what) {
  ++checks;
  if (!ok) throw std::runtime_error(what);
}

inline GivenAttributes Given(const char* output_type, std::int64_t op_seed = 3, std::int64_t samples = 0) {
  GivenAttributes given;
  if (output_type != nullptr) given[AttributeRole::kOutputType] = GivenAttribute::Text(output_type);
  given[AttributeRole::kOpSeed] = GivenAttribute::Integer(op_seed);
  if (samples != 0) given[AttributeRole::kSampleSize] = GivenAttribute::Integer(samples);
  return given;
}

template <class Op>
std::shared_ptr<ov::Node> Make(const GivenAttributes& given, const ov::OutputVector& inputs) {
  const auto op = std::make_shared<Op>();
  op->SetAttributes(given);
  op->set_arguments(inputs);
  op->constructor_validate_and_infer_types();
  return op;
}

inline std::shared_ptr<ov::Node> Number(float x) { return std::make_shared<Constant>(ov::element::f32, ov::Shape{}, &x); }

inline std::string Bytes(const ov::Tensor& tensor) {
  if (tensor.get_size() == 0) return {};
  return std::string(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
}

inline std::vector<std::string> Bytes(const ov::TensorVector& tensors) {
  std::vector<std::string> all;
  for (const ov::Tensor& tensor : tensors) all.push_back(Bytes(tensor));
  return all;
}

/// A model's outputs as OpenVINO's reference code computes them, which rounds nothing.
inline ov::TensorVector Evaluated(const ov::Model& model, const ov::TensorVector& inputs) {
  ov::TensorVector outputs;
  for (const auto& output : model.outputs()) {
    const ov::PartialShape& partial = output.get_partial_shape();
    outputs.emplace_back(output.get_element_type(), partial.is_static() ? partial.to_shape() : ov::Shape{0});
  }
  Check(model.evaluate(outputs, inputs), "evaluate");
  return outputs;
}

inline ov::AnyMap Config(const std::string& hint) {
  return hint.empty() ? ov::AnyMap{} : ov::AnyMap{{"INFERENCE_PRECISION_HINT", hint}};
}

inline ov::TensorVector Run(ov::CompiledModel compiled, const ov::TensorVector& inputs) {
  ov::InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  // infer() may lose what a node throws, on one thread.
  request.start_async();
  request.wait();
  ov::TensorVector results;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const ov::Tensor result = request.get_output_tensor(i);
    results.emplace_back(result.get_element_type(), result.get_shape());
    if (result.get_size() > 0) result.copy_to(results.back());
  }
  return results;
}

}  // namespace program
