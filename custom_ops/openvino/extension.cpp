// All that this library adds to an ov::Core, and the OpenVINO release it is for.
#include "openvino/core/extension.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "onnx_conversion.h"
#include "openvino/core/except.hpp"
#include "openvino/core/op_extension.hpp"
#include "openvino/core/version.hpp"
#include "random_ops.h"

namespace onnx_philox {

namespace {

constexpr char kBuiltFor[] = ONNX_PHILOX_OPENVINO_VERSION;

/// OpenVINO's C++ interface holds within one release. Where its library has the release in its file name, the loader
/// refuses another one before this is reached, in its own words.
void CheckRelease() {
  const char* const running = ov::get_openvino_version().buildNumber;  // like "2026.4.1-22982-e213a147257"
  constexpr std::size_t kLength = sizeof(kBuiltFor) - 1;
  const bool same = std::strncmp(running, kBuiltFor, kLength) == 0 && (running[kLength] < '0' || running[kLength] > '9');
  if (same) return;
  ov::Exception::create("onnx_philox", 1,
                        Refusal("onnx_philox", "OpenVINO", running, std::string(kBuiltFor) + ", which this library was built for",
                                "Install that release, or build onnx-philox with this one, or use backend='python'."));
}

std::vector<ov::Extension::Ptr> Extensions() {
  CheckRelease();
  return {
      std::make_shared<ov::OpExtension<RandomGenerator>>(),
      MakeOnnxConversion<RandomGenerator>(kRandomGenerator),
      std::make_shared<ov::OpExtension<RandomUniform>>(),
      MakeOnnxConversion<RandomUniform>(kRandomUniform),
      std::make_shared<ov::OpExtension<RandomNormal>>(),
      MakeOnnxConversion<RandomNormal>(kRandomNormal),
      std::make_shared<ov::OpExtension<RandomBernoulli>>(),
      MakeOnnxConversion<RandomBernoulli>(kRandomBernoulli),
      std::make_shared<ov::OpExtension<RandomCategorical>>(),
      MakeOnnxConversion<RandomCategorical>(kRandomCategorical),
  };
}

}  // namespace

}  // namespace onnx_philox

OPENVINO_CREATE_EXTENSIONS(onnx_philox::Extensions())

/// The OpenVINO release that this library was built for, like "2026.4.1". The file onnx_philox_openvino.version beside the
/// library says the same to those who want to know before they load it.
OPENVINO_EXTENSION_C_API const char* onnx_philox_openvino_version();
const char* onnx_philox_openvino_version() { return onnx_philox::kBuiltFor; }
