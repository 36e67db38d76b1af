// A node that draws on a card: see kernel.h for what it shares with one that draws on the CPU.
//
// What the host must know for a launch, and checks there, lies in its memory: `shape` and single numbers (Role::kNumber). All
// else stays on the card: the states, the data of a dropout, and the inputs that may have a number for each element. Of
// these inputs constants are checked at load. Others the kernel checks as it draws: where it refuses one, it writes no number,
// and a later run of the node reports that. Nothing is ever copied back in a run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/draw.h"
#include "cuda_driver.h"
#include "kernel.h"

namespace onnx_philox {

class CudaKernel final : public Kernel {
 public:
  CudaKernel(const Operator& op, const OrtApi* api, const Kernels& kernels, const cuda::Driver& driver);
  ~CudaKernel() override;

  OrtStatus* Load(const OrtKernelInfo* info) override;
  OrtStatus* Compute(OrtKernelContext* context) const override;

 private:
  /// The kernels of this node in a context.
  struct InACard {
    cuda::Context context = nullptr;
    std::shared_ptr<const cuda::LoadedKernels> loaded;
    cuda::Function draw = nullptr, next_states = nullptr;
  };

  const void* CopyConstant(int index, const OnDevice& constant, std::string* error) const override;
  OrtStatus* Failed(const std::string& error) const;
  /// The context in which to load: the current one, or that of the first card.
  std::string FindContext(cuda::Context* context);
  std::string LoadInto(cuda::Context context, InACard* card) const;
  /// The kernels for the card of a stream, which may be another than that of the load.
  std::string CardOf(cuda::Stream stream, InACard* card) const;
  /// The error about what a replay of a graph would not see.
  std::string CheckCapture() const;
  /// The error about a number that a run before has refused.
  std::string CheckEarlierRuns() const;
  /// The error about memory that a launch must not write to, or that lies where a kernel cannot read it.
  std::string CheckPlaces(const Call& call, const Outputs& outputs) const;
  /// A launch, and how many tasks its draw has; 0 where there is nothing to draw.
  cuda::Launch LaunchOf(const Call& call, const Outputs& outputs, std::uint64_t* tasks) const;
  std::string Launch(const InACard& card, cuda::Function function, std::uint64_t tasks, cuda::Launch launch,
                     cuda::Stream stream) const;

  const cuda::Driver& driver_;
  const char* kernel_name_ = nullptr;
  OnDevice loaded_on_device_[kMaxInputs];  ///< as loaded_ has it
  int retained_device_ = -1;  ///< whose primary context this node holds
  mutable std::vector<unsigned char> constants_[kMaxInputs];
  std::unique_ptr<cuda::SharedWord> refused_;  ///< where a kernel says that it has refused a number; null: it never does
  mutable std::mutex mutex_;
  mutable std::vector<InACard> cards_;  ///< guarded by mutex_ after the load
};

}  // namespace onnx_philox
