// Runs a saved model with onnx-philox operators in OpenVINO, from C++.
//
//   cpp_openvino LIBRARY MODEL
//
// LIBRARY is libonnx_philox_openvino.so, MODEL an .onnx or .xml file. A model input called `state` starts from counter 0
// and key 42, what PhiloxState.from_seed(42) is in Python.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <openvino/openvino.hpp>

namespace {

void Print(const ov::Tensor& tensor) {
  const ov::element::Type type = tensor.get_element_type();
  for (std::size_t i = 0; i < tensor.get_size(); ++i) {
    if (type == ov::element::f32) {
      std::printf(" %.9g", static_cast<double>(tensor.data<float>()[i]));
    } else if (type == ov::element::f64) {
      std::printf(" %.17g", tensor.data<double>()[i]);
    } else if (type == ov::element::f16) {
      std::printf(" %.9g", static_cast<double>(static_cast<float>(tensor.data<ov::float16>()[i])));
    } else if (type == ov::element::bf16) {
      std::printf(" %.9g", static_cast<double>(static_cast<float>(tensor.data<ov::bfloat16>()[i])));
    } else if (type == ov::element::i32) {
      std::printf(" %d", tensor.data<std::int32_t>()[i]);
    } else if (type == ov::element::u32) {
      std::printf(" %u", tensor.data<std::uint32_t>()[i]);
    } else if (type == ov::element::i64) {
      std::printf(" %lld", static_cast<long long>(tensor.data<std::int64_t>()[i]));
    }
  }
  std::printf("\n");
}

void Run(const std::string& library, const std::string& model) {
  ov::Core core;
  core.add_extension(library);
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  ov::InferRequest request = compiled.create_infer_request();

  for (const auto& input : compiled.inputs()) {
    if (input.get_names().count("state") == 0) continue;
    ov::Tensor state(ov::element::u32, ov::Shape{6});
    const std::uint32_t words[6] = {0, 0, 0, 0, 42, 0};  // counter, then key, least significant word first
    std::copy(words, words + 6, state.data<std::uint32_t>());
    request.set_tensor(input, state);
  }
  // infer() may lose what a node throws, on one thread.
  request.start_async();
  request.wait();
  for (const auto& output : compiled.outputs()) {
    std::printf("%s:", output.get_any_name().c_str());
    Print(request.get_tensor(output));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s LIBRARY MODEL\n", argv[0]);
    return 2;
  }
  try {
    Run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
