// A node of the domain, as ONNX Runtime runs it: what is known at load, and one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checks.h"
#include "kernels.h"
#include "ort_api.h"

namespace onnx_philox {

/// Made when a session is created, from the attributes and what is known of the inputs by then. It reads and checks
/// constant inputs here, once. Afterwards it never changes: sessions run one kernel from many threads at once.
class Kernel {
 public:
  Kernel(const Operator& op, const OrtApi* api, const Kernels& kernels) : op_(op), api_(*api), kernels_(kernels) {}
  virtual ~Kernel() = default;

  /// Null, or the error.
  virtual OrtStatus* Load(const OrtKernelInfo* info);
  virtual OrtStatus* Compute(OrtKernelContext* context) const;

  const OrtApi* api() const { return &api_; }
  const Operator& op() const { return op_; }

 protected:
  enum class Source {
    kLeftOut,   ///< not connected
    kConstant,  ///< read at load; ONNX Runtime keeps it for as long as the kernel
    kRun,       ///< read in each call
  };

  /// An input that lies where the host cannot read it.
  struct OnDevice {
    const void* data = nullptr;
    ElementType type = ElementType::kUnknown;
    std::uint64_t elements = 0;
  };

  /// What one call draws, and where its parts come from; at load, as much as is known.
  struct Call {
    Arguments arguments;
    std::int64_t state_dimension[kMaxRank] = {kStateWords};  ///< the next state's shape is the state's
    std::size_t state_rank = 1;
    std::vector<std::uint16_t> halves;  ///< data of float16 that came as float32
    OnDevice* on_device = nullptr;      ///< of each input, where `is_on_device_`; null: all are read on the host
  };

  /// The outputs of a call; null where nobody wants them, or nothing is drawn.
  struct Outputs {
    void *values = nullptr, *mask = nullptr, *next_state = nullptr;
  };

  /// Reads and checks the inputs that are no constants.
  OrtStatus* ReadInputs(OrtKernelContext* context, Call* call) const;
  /// Asks for all outputs; `written` are the dimensions and bytes of the first, of that type.
  OrtStatus* AskForOutputs(OrtKernelContext* context, const Call& call, const Dimensions& written, OutputType type,
                           Outputs* outputs) const;
  /// The value on the host of a constant that lies on a device; null if it need not be known.
  virtual const void* CopyConstant(int index, const OnDevice& constant, std::string* error) const;
  OrtStatus* Refuse(const std::string& error) const;

  const Operator& op_;
  const OrtApi& api_;
  Attributes attributes_;
  Source source_[kMaxInputs] = {};
  bool is_on_device_[kMaxInputs] = {};  ///< set before Load
  bool has_values_ = true;
  bool has_mask_ = false;
  bool has_next_state_ = false;
  bool is_widened_ = false;
  Call loaded_;  ///< what constants say, and what is known before a run of the other inputs

 private:
  /// Finds out the type of the first output, if that is the type of an input.
  OrtStatus* FindOutputType(const OrtKernelInfo* info);
  /// Finds out whether ONNX Runtime runs this node of float16 in float32, see widened_f16.h.
  OrtStatus* FindWidening(const OrtKernelInfo* info);
  OrtStatus* LoadInput(const OrtKernelInfo* info, int index, std::string* error);
  /// Reads a value and checks it, in a run on that run's threads. Puts an error of ours into `error`, and returns one of
  /// ONNX Runtime's.
  OrtStatus* ReadValue(const OrtValue* value, int index, Call* call, std::string* error,
                       OrtKernelContext* context = nullptr) const;
  /// Checks what is known of input `index`, and puts it into `call`.
  std::string Check(int index, const Known& known, Call* call, OrtKernelContext* context = nullptr) const;
  /// Whether an input comes as float32 instead of float16.
  bool IsWidenedNumber(int index, ElementType type) const;

  const Kernels& kernels_;
  bool is_checked_together_ = false;  ///< at load, but for rows of states: all other inputs are constants
};

}  // namespace onnx_philox
