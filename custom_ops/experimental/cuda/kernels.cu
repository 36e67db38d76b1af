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

using Uniforms = FromGrid<Distribution::kUniform>;

template <OutputType kType>
void DrawUniform(const Launch& launch) {
  const Piece piece = PieceOf(launch);
  const std::uint64_t low = Known(launch, Parameter::kMinval), high = Known(launch, Parameter::kMaxval);
  if constexpr (kType == OutputType::kI32) {
    FillI32<Cuda, Uniforms>(piece, low, high);
  } else if constexpr (kType == OutputType::kI64) {
    FillI64<Cuda, Uniforms>(piece, low, high);
  } else {
    FillUniformFloats<Cuda, Uniforms, typename FloatOf<kType>::Type>(piece, low, high);
  }
}

template <>
void DrawUniform<OutputType::kBits>(const Launch& launch) {
  Uniforms::Fill(PieceOf(launch), BitsRule<Cuda>());
}

template <OutputType kType>
void DrawNormal(const Launch& launch) {
  FillNormals<Cuda, FromGrid<Distribution::kNormal>, typename FloatOf<kType>::Type>(PieceOf(launch), Known(launch, Parameter::kMean),
                                                            Known(launch, Parameter::kScale));
}

template <OutputType kType>
void DrawExponential(const Launch& launch) {
  FillExponentials<Cuda, FromGrid<Distribution::kExponential>, typename FloatOf<kType>::Type>(PieceOf(launch), Known(launch, Parameter::kScale));
}

/// By a probability for each element: see numbers.cpp.
template <class Rule, class Bits>
void DrawBernoulliEach(const Launch& launch) {
  unsigned char* const out = static_cast<unsigned char*>(launch.out);
  const Rule rule{};
  ForEachTask<BlockElements<Rule>(), 1>(
      DrawOf(launch), launch.rows * launch.row_elements,
      [&](Counter counter, const Keys& keys, std::uint64_t first, unsigned count) {
        alignas(16) unsigned char uniforms[BlockBytes<Rule>()], drawn[BlockElements<Rule>()];
        DrawBlocks<1>(counter, keys, rule, uniforms);
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < BlockElements<Rule>(); ++i) {
          Bits uniform;
          std::memcpy(&uniform, uniforms + i * sizeof(uniform), sizeof(uniform));
          std::uint64_t p = 0;
          const bool is_valid = i < count && Take(launch, Parameter::kP, first + i, &p);
          drawn[i] = is_valid && uniform < static_cast<Bits>(p) ? 1 : 0;
        }
        StoreElements(drawn, count, out + first);
      });
}

template <OutputType kType>
void DrawBernoulli(const Launch& launch) {
  if (launch.number[NumberOf(Parameter::kP)].is_each != 0) {
    if constexpr (kType == OutputType::kF32) return DrawBernoulliEach<F32UnitRule<Cuda>, std::int32_t>(launch);
    return DrawBernoulliEach<F64UnitRule<Cuda>, std::int64_t>(launch);
  }
  std::uint64_t p;
  if (!Take(launch, Parameter::kP, 0, &p)) p = 0;  // draws false
  FillBelow<Cuda, FromGrid<Distribution::kBernoulli>>(PieceOf(launch), Argument{kType, p, nullptr});
}

/// A float as bits of a type, rounded.
template <OutputType kType, class Float>
ONNX_PHILOX_INLINE Element<ElementSize(kType)> Rounded(Float x) {
  if constexpr (kType == OutputType::kF16) {
    return static_cast<std::uint16_t>(Cuda::F16(BitCast<std::uint32_t>(x)));
  } else if constexpr (kType == OutputType::kBF16) {
    return static_cast<std::uint16_t>(RoundToBF16(BitCast<std::uint32_t>(x)) >> 16);
  } else {
    return BitCast<Element<sizeof(Float)>>(x);
  }
}

/// An element of the data times `scale`. A NaN keeps its payload: a card's product of it has all bits but the sign, which
/// rounding to bf16 would make -0.
template <OutputType kType, class Float>
ONNX_PHILOX_INLINE Element<ElementSize(kType)> Scaled(Element<ElementSize(kType)> x, Float scale) {
  constexpr auto kQuiet = static_cast<decltype(x)>(kType == OutputType::kF16    ? 0x7E00u
                                                   : kType == OutputType::kBF16 ? 0x7FC0u
                                                   : kType == OutputType::kF32  ? 0x7FC00000u
                                                                                : 0x7FF8000000000000u);
  const Float number = FloatOf<kType>::Type::FromBits(x), product = number * scale;
  if (product != product) return static_cast<decltype(x)>(number != number ? x | kQuiet : kQuiet);
  return Rounded<kType>(product);
}

/// How a rule that draws which elements to drop fills the output and the mask of a dropout.
template <OutputType kType>
struct KeptFromGrid {
  template <class Rule>
  static ONNX_PHILOX_INLINE void Fill(const Piece& piece, const Rule& rule) {
    using Type = typename FloatOf<kType>::Type;
    using Number = typename Type::Number;
    constexpr unsigned kSize = ElementSize(kType);
    constexpr unsigned kElements = RuleElements<Distribution::kDropout, Rule, kSize>(), kBlocks = kElements / BlockElements<Rule>();
    const Draw& draw = piece.draw;
    const Element<kSize>* const from = static_cast<const Element<kSize>*>(draw[Parameter::kData].data);
    Element<kSize>* const out = static_cast<Element<kSize>*>(draw.out);
    const Number scale = Type::FromBits(Rounded<kType>(ScaleOf<Cuda, Number>(draw[Parameter::kRatio])));
    ForEachTask<kElements, kBlocks>(draw, piece.end, [&](Counter counter, const Keys& keys, std::uint64_t first, unsigned count) {
      alignas(16) unsigned char dropped[kElements], kept[kElements];
      alignas(16) Element<kSize> data[kElements];
      DrawBlocks<kBlocks>(counter, keys, rule, dropped);
      if (draw.mask != nullptr) {
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < kElements; ++i) kept[i] = dropped[i] ^ 1u;
        StoreElements(kept, count, draw.mask + first);
      }
      if (out == nullptr) return;
      LoadElements(from + first, count, data);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kElements; ++i) data[i] = dropped[i] != 0 ? 0 : Scaled<kType>(data[i], scale);
      StoreElements(data, count, out + first);
    });
  }
};

template <OutputType kType>
void DrawDropout(const Launch& launch) {
  const Argument ratio{launch.number[NumberOf(Parameter::kRatio)].type, Known(launch, Parameter::kRatio), nullptr};
  Piece piece = PieceOf(launch);
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
      [&](Counter counter, const Keys& keys, std::uint64_t element, unsigned) {
        std::uint64_t bits;
        if (!Take(launch, parameter, element, &bits)) {
          out[element] = refused;
          return;
        }
        Draw draw{};
        draw.state = State{counter, Join(keys.of0[0], keys.of1[0])};
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
    WriteNextStates(launch);                                                                                         \
    Draw##Distribution<OutputType::k##Type>(launch);                                                                 \
  }
ONNX_PHILOX_CUDA_KERNELS(ONNX_PHILOX_CUDA_KERNEL)

extern "C" __global__ void __launch_bounds__(kThreads) onnx_philox_next_states(const Launch launch) {
  WriteNextStates(launch);
}

}  // namespace cuda
}  // namespace onnx_philox
