// The fill algorithm, written once over an instruction set's primitives: words, through a rule, to memory.
//
// An instruction set is a struct `Isa` in an anonymous namespace with
//   Lane      the register a generator word lives in, one block per lane; bits above a word may hold anything
//   Product   the 64-bit products of one multiplication of a Lane
//   Words     a register of words in stream order; also a register of output
//   kBlocks   blocks per group: what one step of the algorithm makes
//   kWords    Words registers per group (even)
//   kGroups   groups computed side by side, to hide the latency of the multiplications
// and static functions over them; scalar.h is the plainest example. The instruction set and the conversion
// rule are template parameters, so the conversion happens in registers, and each byte of memory is written once.
//
// Internal: included only by the files that are compiled for each instruction set, where every template argument has
// internal linkage. Nothing here
// may have external linkage (see philox.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "inlining.h"
#include "kernels.h"
#include "output.h"
#include "philox.h"
#include "rules.h"

namespace onnx_philox {

/// What every group of a run shares. A run is a stretch of blocks that differ only in word 0 of the counter. So the
/// halves of rounds 0 and 1 that do not see this word are computed once, as scalars.
template <class Isa>
struct Schedule {
  using Lane = typename Isa::Lane;

  Lane multiplier0 = Isa::SplatLane(kMultiplier0);
  Lane multiplier2 = Isa::SplatLane(kMultiplier2);
  Lane key0[kRounds], key1[kRounds];  // of rounds 2 to 9; 0 and 1 are in the constants below
  Lane round0_word2;                  // round 0: word 3 and the key, to go into word 2
  Lane round1_word0, round1_word2;    // round 1: word 1, the high product of word 0 and the key
  Lane round1_word3;                  // the low product of word 0

  explicit Schedule(std::uint64_t key) {
    ONNX_PHILOX_UNROLL
    for (int round = 2; round < kRounds; ++round) {
      key0[round] = Isa::SplatLane(RoundKey0(key, round));
      key1[round] = Isa::SplatLane(RoundKey1(key, round));
    }
  }

  /// For the run that `counter` is in.
  void BeginRun(Counter counter, std::uint64_t key) {
    const std::uint64_t p2 = MultiplyWide(kMultiplier2, Low32(counter.high));
    const std::uint32_t word0 = High32(p2) ^ High32(counter.low) ^ RoundKey0(key, 0);
    const std::uint64_t p0 = MultiplyWide(kMultiplier0, word0);
    round0_word2 = Isa::SplatLane(High32(counter.high) ^ RoundKey1(key, 0));
    round1_word0 = Isa::SplatLane(Low32(p2) ^ RoundKey0(key, 1));
    round1_word2 = Isa::SplatLane(High32(p0) ^ RoundKey1(key, 1));
    round1_word3 = Isa::SplatLane(Low32(p0));
  }
};

/// Elements that `Rule` makes of one block.
template <class Rule>
constexpr unsigned BlockElements() {
  return kWordsPerBlock / Rule::kWordsPerElement;
}

/// Bytes that `Rule` makes of one block.
template <class Rule>
constexpr unsigned BlockBytes() {
  const unsigned element = Rule::kForm == Form::kBytes ? 1 : Rule::kForm == Form::kNarrow ? 2 : 4 * Rule::kWordsPerElement;
  return kWordsPerBlock / Rule::kWordsPerElement * element;
}

/// Bytes that `Rule` makes of one group.
template <class Isa, class Rule>
constexpr unsigned GroupBytes() {
  return Isa::kBlocks * BlockBytes<Rule>();
}

/// Stores the registers of one group, in stream order.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void StoreGroup(typename Isa::Words (&words)[Isa::kWords], const Rule& rule, unsigned char* out) {
  constexpr unsigned kBytes = sizeof(typename Isa::Words);
  if constexpr (Rule::kForm == Form::kBytes) {
    rule(words, out);
  } else {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < Isa::kWords; i += 2) {
      if constexpr (Rule::kForm == Form::kNarrow) {
        Isa::Store(out + i / 2 * kBytes, rule(words[i], words[i + 1]));
      } else {
        if constexpr (Rule::kForm == Form::kPairs) {
          rule(words[i], words[i + 1]);
        } else {
          words[i] = rule(words[i]);
          words[i + 1] = rule(words[i + 1]);
        }
        Isa::Store(out + i * kBytes, words[i]);
        Isa::Store(out + (i + 1) * kBytes, words[i + 1]);
      }
    }
  }
}

/// What a rule makes of the words of so many groups.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void EmitWords(const typename Isa::Words* drawn, unsigned groups, const Rule& rule,
                                  unsigned char* out) {
  for (unsigned g = 0; g < groups; ++g) {
    typename Isa::Words words[Isa::kWords];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < Isa::kWords; ++i) words[i] = drawn[i];
    StoreGroup<Isa>(words, rule, out);
    drawn += Isa::kWords;
    out += GroupBytes<Isa, Rule>();
  }
}

/// From this many bytes on, stores are aligned first: a store across a cache line costs more, but so does the head.
constexpr unsigned kWorthAligning = 4096;

/// kGroups groups to `out`. `products` are those of word 0 in round 0.
template <class Isa, class Rule, int kGroups>
ONNX_PHILOX_INLINE void EmitGroups(const Schedule<Isa>& schedule, const typename Isa::Product (&products)[kGroups],
                                   const Rule& rule, unsigned char* out) {
  using Lane = typename Isa::Lane;
  using Product = typename Isa::Product;
  using Words = typename Isa::Words;

  Lane c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups];
  ONNX_PHILOX_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    const Lane word2 = Isa::Xor(Isa::High(products[g]), schedule.round0_word2);
    const Product p2 = Isa::Multiply(word2, schedule.multiplier2);
    c0[g] = Isa::Xor(Isa::High(p2), schedule.round1_word0);
    c1[g] = Isa::Low(p2);
    c2[g] = Isa::Xor(Isa::Low(products[g]), schedule.round1_word2);
    c3[g] = schedule.round1_word3;
  }
  ONNX_PHILOX_UNROLL
  for (int round = 2; round < kRounds - 1; ++round) {
    ONNX_PHILOX_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const Product p0 = Isa::Multiply(c0[g], schedule.multiplier0);
      const Product p2 = Isa::Multiply(c2[g], schedule.multiplier2);
      c0[g] = Isa::Xor3(Isa::High(p2), c1[g], schedule.key0[round]);
      c1[g] = Isa::Low(p2);
      c2[g] = Isa::Xor3(Isa::High(p0), c3[g], schedule.key1[round]);
      c3[g] = Isa::Low(p0);
    }
  }
  ONNX_PHILOX_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    // The last round also brings the words into stream order.
    const Product p0 = Isa::Multiply(c0[g], schedule.multiplier0);
    const Product p2 = Isa::Multiply(c2[g], schedule.multiplier2);
    Words words[Isa::kWords];
    Isa::template Finish<Rule::kSwapped>(p0, p2, c1[g], c3[g], schedule.key0[kRounds - 1],
                                         schedule.key1[kRounds - 1], words);
    StoreGroup<Isa>(words, rule, out + static_cast<unsigned>(g) * GroupBytes<Isa, Rule>());
  }
}

/// The products of word 0 in round 0 for the group that begins at counter word `word0`. Lanes past 2^32 hold wrong
/// products; they belong to the next run and are never written.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Product FirstProduct(const Schedule<Isa>& schedule, std::uint32_t word0) {
  return Isa::Multiply(Isa::CountLanes(word0), schedule.multiplier0);
}

/// The group at `word0`. A function of its own, since a draw has several ends, and each would repeat it.
template <class Isa, class Rule>
ONNX_PHILOX_NOINLINE void EmitOne(const Schedule<Isa>& schedule, std::uint32_t word0, const Rule& rule,
                                  unsigned char* out) {
  const typename Isa::Product products[1] = {FirstProduct(schedule, word0)};
  EmitGroups<Isa, Rule, 1>(schedule, products, rule, out);
}

/// `bytes` bytes from byte `skip` of the group at `word0`.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void EmitPart(const Schedule<Isa>& schedule, std::uint32_t word0, const Rule& rule, unsigned skip,
                                 std::uint64_t bytes, unsigned char* out) {
  alignas(64) unsigned char group[GroupBytes<Isa, Rule>()];
  EmitOne<Isa>(schedule, word0, rule, group);
  std::memcpy(out, group + skip, static_cast<std::size_t>(bytes));
}

/// The same in plain C++, for as many times kGroups groups as make whole vectors of a compiler.
template <class Isa, class Rule, unsigned kGroups>
ONNX_PHILOX_INLINE std::uint64_t EmitPlain(const Schedule<Isa>& schedule, std::uint32_t word0, const Rule& rule,
                                           std::uint64_t groups, unsigned char* out) {
  constexpr unsigned kLanes = 4;
  const std::uint64_t steps = groups / (kLanes * kGroups) * kLanes;
  ONNX_PHILOX_SIMD
  for (std::uint64_t i = 0; i < steps; ++i) {
    typename Isa::Product products[kGroups];
    ONNX_PHILOX_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      products[g] = FirstProduct(schedule, word0 + static_cast<std::uint32_t>(i) * kGroups + g);
    }
    EmitGroups<Isa, Rule, kGroups>(schedule, products, rule, out + i * (kGroups * GroupBytes<Isa, Rule>()));
  }
  return steps * kGroups;
}

/// Writes whole groups from `word0` on to `out`; returns how many bytes that were.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE std::uint64_t EmitWhole(const Schedule<Isa>& schedule, std::uint32_t word0, const Rule& rule,
                                           std::uint64_t bytes, unsigned char* out) {
  using Product = typename Isa::Product;
  constexpr unsigned kBytes = GroupBytes<Isa, Rule>();
  unsigned char* const begin = out;
  std::uint64_t groups = bytes / kBytes;

  if constexpr (Isa::kBlocks == 1) {
    const auto emit = [&](auto side_by_side) {
      const std::uint64_t done = EmitPlain<Isa, Rule, side_by_side()>(schedule, word0, rule, groups, out);
      out += done * kBytes;
      word0 += static_cast<std::uint32_t>(done);
      groups -= done;
    };
    emit(std::integral_constant<unsigned, 4>());
    emit(std::integral_constant<unsigned, 2>());
    emit(std::integral_constant<unsigned, 1>());
  } else if (groups >= Isa::kGroups) {
    // A product of a later group is an addition away: (c + n) * m = c * m + n * m, below 2^64 within a run.
    Product products[Isa::kGroups];
    ONNX_PHILOX_UNROLL
    for (unsigned g = 0; g < Isa::kGroups; ++g) products[g] = FirstProduct(schedule, word0 + g * Isa::kBlocks);
    const Product step = Isa::SplatProduct(MultiplyWide(kMultiplier0, Isa::kGroups * Isa::kBlocks));
    do {
      EmitGroups<Isa, Rule, Isa::kGroups>(schedule, products, rule, out);
      ONNX_PHILOX_UNROLL
      for (unsigned g = 0; g < Isa::kGroups; ++g) products[g] = Isa::AddProduct(products[g], step);
      out += Isa::kGroups * kBytes;
      word0 += Isa::kGroups * Isa::kBlocks;
      groups -= Isa::kGroups;
    } while (groups >= Isa::kGroups);
  }
  for (; groups > 0; --groups) {
    EmitOne<Isa>(schedule, word0, rule, out);
    out += kBytes;
    word0 += Isa::kBlocks;
  }
  return static_cast<std::uint64_t>(out - begin);
}

/// `bytes` bytes of one run, from byte `skip` of the block at `word0`.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void FillRun(const Schedule<Isa>& schedule, std::uint32_t word0, const Rule& rule, unsigned skip,
                                std::uint64_t bytes, unsigned char* out) {
  constexpr unsigned kBlockBytes = BlockBytes<Rule>();
  constexpr unsigned kRegister = sizeof(typename Isa::Words), kGroup = GroupBytes<Isa, Rule>();
  constexpr unsigned kAlignment = kRegister < kGroup ? kRegister : kGroup;  // one group holds the head

  // The head: the rest of a block begun, then blocks up to an aligned address. If no block begins at one (`out` is at
  // an odd multiple of something smaller), stores stay unaligned.
  unsigned head = skip == 0 ? 0 : kBlockBytes - skip;
  const unsigned beyond = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(out) + head) % kAlignment;
  if (beyond != 0 && beyond % kBlockBytes == 0 && bytes >= kWorthAligning) head += kAlignment - beyond;
  if (head > bytes) head = static_cast<unsigned>(bytes);
  if (head > 0) {
    EmitPart<Isa>(schedule, word0, rule, skip, head, out);
    word0 += (skip + head) / kBlockBytes;
    out += head;
    bytes -= head;
  }

  const std::uint64_t whole = EmitWhole<Isa>(schedule, word0, rule, bytes, out);
  if (whole < bytes) {
    word0 += static_cast<std::uint32_t>(whole / kBlockBytes);
    EmitPart<Isa>(schedule, word0, rule, 0, bytes - whole, out + whole);
  }
}

/// Elements `begin` to `end` - 1, cut where word 0 of the counter wraps: inside a run no vector ever sees a carry.
template <class Isa, class Rule>
ONNX_PHILOX_NOINLINE void FillInRegisters(const State& state, std::uint64_t begin, std::uint64_t end, const Rule rule,
                                          unsigned char* out) {
  constexpr unsigned kBlockBytes = BlockBytes<Rule>(), kPerBlock = BlockElements<Rule>();
  constexpr unsigned kElementBytes = kBlockBytes / kPerBlock;

  Counter counter = Add(state.counter, begin / kPerBlock);
  unsigned skip = static_cast<unsigned>(begin % kPerBlock) * kElementBytes;
  std::uint64_t bytes = (end - begin) * kElementBytes;

  Schedule<Isa> schedule(state.key);
  for (;;) {
    schedule.BeginRun(counter, state.key);
    const std::uint64_t run_blocks = (std::uint64_t{1} << 32) - Low32(counter.low);
    const std::uint64_t run_bytes = run_blocks * kBlockBytes - skip;
    const std::uint64_t now = bytes < run_bytes ? bytes : run_bytes;
    FillRun<Isa>(schedule, Low32(counter.low), rule, skip, now, out);
    bytes -= now;
    if (bytes == 0) return;
    out += now;
    counter = Add(counter, run_blocks);
    skip = 0;
  }
}

/// The same in plain C++, in two steps: 4 KiB of words, then what the rule makes of them.
template <class Isa, class Rule, class WordsRule>
ONNX_PHILOX_NOINLINE void FillByWords(const State& state, std::uint64_t begin, std::uint64_t end, const Rule rule,
                                      unsigned char* out) {
  static_assert(Isa::kBlocks == 1, "a group is a block");
  constexpr unsigned kBlockBytes = BlockBytes<Rule>(), kPerBlock = BlockElements<Rule>();
  constexpr unsigned kElementBytes = kBlockBytes / kPerBlock, kBlocks = 256, kWords = BlockElements<WordsRule>();
  alignas(64) typename Isa::Words words[kBlocks * Isa::kWords];
  alignas(64) unsigned char drawn[kBlocks * kBlockBytes];
  unsigned skip = static_cast<unsigned>(begin % kPerBlock);
  for (std::uint64_t block = begin / kPerBlock, left = end - block * kPerBlock; left > 0;) {
    const unsigned elements = left < kBlocks * kPerBlock ? static_cast<unsigned>(left) : kBlocks * kPerBlock;
    const unsigned blocks = (elements + kPerBlock - 1) / kPerBlock;
    FillInRegisters<Isa>(state, block * kWords, (block + blocks) * kWords, WordsRule(),
                         reinterpret_cast<unsigned char*>(words));
    const std::size_t bytes = (elements - skip) * kElementBytes;
    const bool are_whole = bytes == blocks * kBlockBytes;
    EmitWords<Isa>(words, blocks, rule, are_whole ? out : drawn);
    if (!are_whole) std::memcpy(out, drawn + skip * kElementBytes, bytes);
    out += bytes;
    block += blocks;
    left -= elements;
    skip = 0;
  }
}

/// A piece of a draw from one state. In plain C++ a compiler makes vectors of a loop that draws words and of one that
/// converts them, but not of both at once.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void FillPiece(const Piece& piece, const Rule& rule) {
  using WordsRule = std::conditional_t<Rule::kSwapped, WordPairsRule<Isa>, BitsRule<Isa>>;
  unsigned char* const out = static_cast<unsigned char*>(piece.draw.out);
  if constexpr (Isa::kBlocks > 1 || std::is_same_v<Rule, WordsRule>) {
    FillInRegisters<Isa>(piece.draw.state, piece.begin, piece.end, rule, out);
  } else {
    FillByWords<Isa, Rule, WordsRule>(piece.draw.state, piece.begin, piece.end, rule, out);
  }
}

}  // namespace onnx_philox
