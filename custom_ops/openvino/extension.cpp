// All that this library adds to an ov::Core, and the OpenVINO release it is for.
#include "openvino/core/extension.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node.h"
#include "onnx_conversion.h"
#include "openvino/core/except.hpp"
#include "openvino/core/op_extension.hpp"
#include "openvino/core/version.hpp"
#include "text.h"

namespace onnx_philox {

namespace {

constexpr char kBuiltFor[] = ONNX_PHILOX_OPENVINO_VERSION;

/// OpenVINO's C++ interface is stable only within one release. If OpenVINO's file name contains the release, the loader
/// refuses another one first, in its own words.
void CheckRelease() {
  const char* const running = ov::get_openvino_version().buildNumber;  // like "2026.4.1-22982-e213a147257"
  constexpr std::size_t kLength = sizeof(kBuiltFor) - 1;
  const bool same = std::strncmp(running, kBuiltFor, kLength) == 0 && (running[kLength] < '0' || running[kLength] > '9');
  if (same) return;
  ov::Exception::create("onnx_philox", 1,
                        Refusal("onnx_philox", "OpenVINO", running, std::string(kBuiltFor) + ", which this library was built for",
                                "Install that release, or build onnx-philox with this one, or use backend='python'."));
}

template <std::size_t... index>
std::vector<ov::Extension::Ptr> ExtensionsOf(std::index_sequence<index...>) {
  std::vector<ov::Extension::Ptr> extensions;
  (extensions.insert(extensions.end(), {std::make_shared<ov::OpExtension<NodeOf<*kAllOperators[index]>>>(),
                                        OnnxConversion(*kAllOperators[index], [] {
                                          return std::make_shared<NodeOf<*kAllOperators[index]>>();
                                        })}),
   ...);
  return extensions;
}

std::vector<ov::Extension::Ptr> Extensions() {
  CheckRelease();
  return ExtensionsOf(std::make_index_sequence<kOperators>());
}

}  // namespace

}  // namespace onnx_philox

OPENVINO_CREATE_EXTENSIONS(onnx_philox::Extensions())

/// The OpenVINO release that this library was built for, like "2026.4.1". The file onnx_philox_openvino.version beside
/// the library says the same without loading it.
OPENVINO_EXTENSION_C_API const char* onnx_philox_openvino_version();
const char* onnx_philox_openvino_version() { return onnx_philox::kBuiltFor; }
