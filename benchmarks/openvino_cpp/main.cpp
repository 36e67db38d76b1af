// Times inferences of two models in alternating pairs of bursts, as paired.py does it, without Python around each.
//
//   openvino_cpp LIBRARY THREADS ELEMENTS PAIRS OURS.xml THEIRS.xml [THEIR_LIBRARY]
//
// LIBRARY has the operators, THEIR_LIBRARY those of the other model where they are another build's. Inputs are the number of elements where i64, 1 where f32, zeros otherwise. Each line that is
// printed is a pair: seconds an inference of ours and of theirs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include <openvino/openvino.hpp>

namespace {

constexpr double kBurstSeconds = 0.002;

ov::InferRequest RequestOf(ov::Core& core, const std::string& path, int threads, std::int64_t elements) {
  ov::CompiledModel compiled = core.compile_model(
      core.read_model(path), "CPU", ov::inference_num_threads(threads), ov::num_streams(1));
  ov::InferRequest request = compiled.create_infer_request();
  for (const auto& input : compiled.inputs()) {
    ov::Tensor tensor(input.get_element_type(), input.get_shape());
    std::memset(tensor.data(), 0, tensor.get_byte_size());
    if (input.get_element_type() == ov::element::i64) tensor.data<std::int64_t>()[0] = elements;
    if (input.get_element_type() == ov::element::f32) tensor.data<float>()[0] = 1;
    request.set_tensor(input, tensor);
  }
  return request;
}

/// infer() may lose what a node throws.
void Run(ov::InferRequest& request) {
  request.start_async();
  request.wait();
}

double Seconds(ov::InferRequest& request, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) Run(request);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

/// The first inference of a burst brings its own code and memory into the caches.
double Burst(ov::InferRequest& request, int calls) {
  Run(request);
  return Seconds(request, calls);
}

}  // namespace

int main(int count, char** given) try {
  if (count != 7 && count != 8) {
    std::fprintf(stderr, "openvino_cpp LIBRARY THREADS ELEMENTS PAIRS OURS.xml THEIRS.xml [THEIR_LIBRARY]\n");
    return 2;
  }
  ov::Core core, their_core;
  core.add_extension(std::string(given[1]));
  their_core.add_extension(std::string(given[count - 1 == 7 ? 7 : 1]));
  const int threads = std::atoi(given[2]), pairs = std::atoi(given[4]);
  const std::int64_t elements = std::atoll(given[3]);
  ov::InferRequest ours = RequestOf(core, given[5], threads, elements), theirs = RequestOf(their_core, given[6], threads, elements);
  Seconds(ours, 50);
  Seconds(theirs, 50);
  const double shortest = std::min(Seconds(ours, 10), Seconds(theirs, 10));
  const int calls = static_cast<int>(std::ceil(kBurstSeconds / shortest));
  for (int i = 0; i < pairs; ++i) {
    double mine = 0, other = 0;
    if (i % 2 != 0) other = Burst(theirs, calls);
    mine = Burst(ours, calls);
    if (i % 2 == 0) other = Burst(theirs, calls);
    std::printf("%.9f %.9f\n", mine, other);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
