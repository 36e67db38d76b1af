// The CUDA kernels: see draw.h for what a launch takes. make_ptx.py compiles them.
//
// The rules, and which of them serves which parameters, are those of the CPU. What is here is how a thread finds its
// elements, and what it does with numbers that lie on the device.
#include "draw.h"
#include "dropout.h"
#include "fills.h"
#include "gamma.h"
#include "grid.h"
#include "isa.h"
#include "poisson.h"
#include "state.cpp"

namespace onnx_philox {
namespace cuda {
namespace {

template <OutputType kType>
struct FloatOf;
template <>
struct FloatOf<OutputType::kF32> {
  using Type = F32<Cuda>;
};
template <>
struct FloatOf<OutputType::kF16> {
  using Type = F16<Cuda>;
};
template <>
struct FloatOf<OutputType::kBF16> {
  using Type = BF16<Cuda>;
};
template <>
struct FloatOf<OutputType::kF64> {
  using Type = F64<Cuda>;
};

/// Whether bounds are a range, as RangeProblemOf says; those that the host knows are.
template <OutputType kType>
ONNX_PHILOX_INLINE bool IsRange(std::uint64_t low, std::uint64_t high) {
  if constexpr (kType == OutputType::kI32) {
    return static_cast<std::int32_t>(low) < static_cast<std::int32_t>(high);
  } else if constexpr (kType == OutputType::kI64) {
    return static_cast<std::int64_t>(low) < static_cast<std::int64_t>(high);
  } else {
    using Type = typename FloatOf<kType>::Type;
    const typename Type::Number width = Type::Width(low, high);
    return !(Type::FromBits(low) > Type::FromBits(high)) && width - width == 0;
  }
}

template <OutputType kType>
void DrawUniform(const Launch& launch) {
  const Piece piece = PieceOf(launch);
  std::uint64_t low, high;
  bool is_valid = Take(launch, Parameter::kMinval, 0, &low);
  is_valid = Take(launch, Parameter::kMaxval, 0, &high) && is_valid;
  if (is_valid && !IsRange<kType>(low, high)) {
    Report(launch, kNotARange);
    is_valid = false;
  }
  if (!is_valid) return FillRefused(launch, ElementSize(kType));
  if constexpr (kType == OutputType::kI32) {
    FillI32<Cuda, FromGrid>(piece, low, high);
  } else if constexpr (kType == OutputType::kI64) {
    FillI64<Cuda, FromGrid>(piece, low, high);
  } else {
    FillUniformFloats<Cuda, FromGrid, typename FloatOf<kType>::Type>(piece, low, high);
  }
}

template <>
void DrawUniform<OutputType::kBits>(const Launch& launch) {
  FromGrid::Fill(PieceOf(launch), BitsRule<Cuda>());
}

template <OutputType kType>
void DrawNormal(const Launch& launch) {
  std::uint64_t mean, scale;
  const bool is_valid = Take(launch, Parameter::kMean, 0, &mean);
  if (!Take(launch, Parameter::kScale, 0, &scale) || !is_valid) return FillRefused(launch, ElementSize(kType));
  FillNormals<Cuda, FromGrid, typename FloatOf<kType>::Type>(PieceOf(launch), mean, scale);
}

template <OutputType kType>
void DrawExponential(const Launch& launch) {
  std::uint64_t scale;
  if (!Take(launch, Parameter::kScale, 0, &scale)) return FillRefused(launch, ElementSize(kType));
  FillExponentials<Cuda, FromGrid, typename FloatOf<kType>::Type>(PieceOf(launch), scale);
}

/// By a probability for each element: see numbers.cpp.
template <class Rule, class Bits>
void DrawBernoulliEach(const Launch& launch) {
  unsigned char* const out = static_cast<unsigned char*>(launch.out);
  const Rule rule{};
  ForEachTask<BlockElements<Rule>(), 1>(
      DrawOf(launch), launch.rows * launch.row_elements,
      [&](const State& state, std::uint64_t first, unsigned count) {
        Cuda::Words words[Cuda::kWords];
        DrawBlock<Rule>(state, words);
        alignas(16) unsigned char uniforms[BlockBytes<Rule>()], drawn[BlockElements<Rule>()];
        StoreGroup<Cuda>(words, rule, uniforms);
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < BlockElements<Rule>(); ++i) {
          Bits uniform;
          std::memcpy(&uniform, uniforms + i * sizeof(uniform), sizeof(uniform));
          std::uint64_t p = 0;
          const bool is_valid = i < count && Take(launch, Parameter::kP, first + i, &p);
          drawn[i] = is_valid && uniform < static_cast<Bits>(p) ? 1 : 0;
        }
        StoreBlock(drawn, count, out + first);
      });
}

template <OutputType kType>
void DrawBernoulli(const Launch& launch) {
  if (launch.number[NumberOf(Parameter::kP)].is_each != 0) {
    if constexpr (kType == OutputType::kF32) return DrawBernoulliEach<F32UnitRule<Cuda>, std::int32_t>(launch);
    return DrawBernoulliEach<F64UnitRule<Cuda>, std::int64_t>(launch);
  }
  std::uint64_t p;
  if (!Take(launch, Parameter::kP, 0, &p)) return FillRefused(launch, 1);
  FillBelow<Cuda, FromGrid>(PieceOf(launch), Argument{kType, p, nullptr});
}

/// How a rule that draws which elements to drop fills the output and the mask of a dropout.
template <OutputType kType>
struct KeptFromGrid {
  template <class Rule>
  static ONNX_PHILOX_INLINE void Fill(const Piece& piece, const Rule& rule) {
    constexpr unsigned kElements = BlockElements<Rule>();
    using Type = typename FloatOf<kType>::Type;
    constexpr unsigned kSize = Type::kIsNarrow ? 2 : sizeof(typename Type::Number);
    const Draw& draw = piece.draw;
    const Element<kSize>* const from = static_cast<const Element<kSize>*>(draw[Parameter::kData].data);
    Element<kSize>* const out = static_cast<Element<kSize>*>(draw.out);
    ForEachTask<kElements, 1>(draw, piece.end, [&](const State& state, std::uint64_t first, unsigned count) {
      Cuda::Words words[Cuda::kWords];
      DrawBlock<Rule>(state, words);
      alignas(16) unsigned char dropped[kElements], kept[kElements], data[kElements * kSize];
      rule(words, dropped);
      if (draw.mask != nullptr) {
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < kElements; ++i) kept[i] = dropped[i] ^ 1u;
        StoreBlock(kept, count, draw.mask + first);
      }
      if (out == nullptr) return;
      LoadBlock(from + first, count, data);
      Keep<Cuda>(draw, dropped, data, kElements, data);
      StoreBlock(data, count, out + first);
    });
  }
};

template <OutputType kType>
void DrawDropout(const Launch& launch) {
  std::uint64_t bits;
  if (!Take(launch, Parameter::kRatio, 0, &bits)) return FillRefused(launch, ElementSize(kType));
  const Argument ratio{launch.number[NumberOf(Parameter::kRatio)].type, bits, nullptr};
  Piece piece = PieceOf(launch);
  piece.draw.type = kType;
  piece.draw[Parameter::kData].data = launch.data;
  piece.draw[Parameter::kRatio] = ratio;
  FillBelow<Cuda, KeptFromGrid<kType>>(piece, ratio);
}

/// A draw of elements that reject: `Values` draws a batch, of one element here.
template <class Values, class Out>
void DrawRejecting(const Launch& launch, Parameter parameter, Out refused) {
  Out* const out = static_cast<Out*>(launch.out);
  ForEachTask<1, kElementBlocks>(
      DrawOf(launch), launch.rows * launch.row_elements,
      [&](const State& state, std::uint64_t element, unsigned) {
        std::uint64_t bits;
        if (!Take(launch, parameter, element, &bits)) {
          out[element] = refused;
          return;
        }
        Draw draw{};
        draw.state = state;
        draw[parameter] = Argument{launch.number[NumberOf(parameter)].type, 0, &bits};
        typename Batch<Cuda>::Column value;
        Values values(draw);
        values(0, 1, &value);
        out[element] = static_cast<Out>(value[0]);
      });
}

template <OutputType kType>
void DrawGamma(const Launch& launch) {
  using Out = typename FloatOf<kType>::Type::Number;
  const Out not_a_number = BitCast<Out>(static_cast<Element<sizeof(Out)>>(-1));
  DrawRejecting<Gammas<Cuda, kGammaAttempts>, Out>(launch, Parameter::kAlpha, not_a_number);
}

template <OutputType kType>
void DrawPoisson(const Launch& launch) {
  using Out = std::conditional_t<kType == OutputType::kI32, std::int32_t, std::int64_t>;
  DrawRejecting<PoissonCounts<Cuda, kPoissonAttempts>, Out>(launch, Parameter::kRate, -1);
}

}  // namespace

#define ONNX_PHILOX_CUDA_KERNEL(Distribution, distribution, Type, type)                                              \
  extern "C" __global__ void __launch_bounds__(kThreads) onnx_philox_##distribution##_##type(const Launch launch) {  \
    Draw##Distribution<OutputType::k##Type>(launch);                                                                 \
    WriteNextStates(launch);                                                                                         \
  }
ONNX_PHILOX_CUDA_KERNELS(ONNX_PHILOX_CUDA_KERNEL)

extern "C" __global__ void __launch_bounds__(kThreads) onnx_philox_next_states(const Launch launch) {
  WriteNextStates(launch);
}

}  // namespace cuda
}  // namespace onnx_philox
