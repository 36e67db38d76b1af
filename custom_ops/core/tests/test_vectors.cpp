// Known answers: every line of vectors.txt, on every available instruction set.
//
//   test_vectors vectors.txt
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "draws.h"
#include "kernels.h"
#include "values.h"

namespace {

using namespace onnx_philox;

/// A 128-bit number printed with its most significant digit first.
Counter ParseCounter(const std::string& digits) {
  return Counter{std::stoull(digits.substr(16), nullptr, 16), std::stoull(digits.substr(0, 16), nullptr, 16)};
}

std::string Hex(const std::vector<unsigned char>& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

std::vector<unsigned char> FillBytes(const Kernels& kernels, const State& state, OutputType type,
                                     const Bounds& bounds, std::uint64_t elements) {
  std::vector<unsigned char> bytes(elements * ElementSize(type), 0xCB);
  Fill(kernels, UniformDraw(state, type, bounds, bytes.data()), 0, elements);
  return bytes;
}

void CheckBlock(std::istringstream& line) {
  std::uint32_t words[10];
  for (std::uint32_t& word : words) line >> std::hex >> word;
  const State state = StateFromWords(words);
  const Block block = Philox(state.counter, state.key);
  check::That(std::memcmp(block.word, words + 6, sizeof(block.word)) == 0, "block of counter word %08x", words[0]);
}

void CheckAdvance(std::istringstream& line) {
  std::string before, after;
  std::uint64_t blocks;
  line >> before >> blocks >> after;
  const Counter expected = ParseCounter(after);
  const Counter got = Advance(State{ParseCounter(before), 0}, 1, 4 * blocks - 3).counter;
  check::That(got.low == expected.low && got.high == expected.high, "%s advanced by %" PRIu64, before.c_str(), blocks);
}

void CheckSeeds(std::istringstream& line, const Kernels& kernels) {
  std::string name;
  std::int64_t global_seed, op_seed;
  Bounds bounds;
  std::size_t count;
  line >> name >> global_seed >> op_seed >> std::hex >> bounds.minval >> bounds.maxval >> std::dec >> count;
  const OutputType type = TypeNamed(name);
  const auto bytes = FillBytes(kernels, Derive(State{}, global_seed, op_seed), type, bounds, count);
  for (std::size_t i = 0; i < count; ++i) {
    double printed;
    line >> printed;
    const std::uint64_t bits = ElementAt(bytes.data(), type, i);
    const double got = IsFloat(type) ? FloatValue(type, bits) : static_cast<std::int32_t>(bits);
    // Printed with seven (f32) or nine (f64) digits.
    check::That(std::fabs(got - printed) <= 1e-7 * std::fabs(printed), "%s: OpenVINO prints %.9g, %s gave %.9g",
                name.c_str(), printed, kernels.name, got);
  }
}

void CheckDraw(std::istringstream& line, const Kernels& kernels) {
  std::string name, expected;
  std::uint32_t words[kStateWords];
  std::uint64_t elements;
  Bounds bounds;
  line >> name;
  for (std::uint32_t& word : words) line >> std::hex >> word;
  line >> std::dec >> elements >> std::hex >> bounds.minval >> bounds.maxval >> expected;
  const OutputType type = TypeNamed(name);
  check::That(elements > 0 && expected.size() == 2 * elements * ElementSize(type),
              "a draw of vectors.txt does not say what to expect: %s", name.c_str());
  check::That(RangeProblemOf(type, bounds) == RangeProblem::kNone, "%s %" PRIx64 " %" PRIx64 " is no range", name.c_str(),
              bounds.minval, bounds.maxval);
  const std::string got = Hex(FillBytes(kernels, StateFromWords(words), type, bounds, elements));
  check::That(got == expected, "%s [%" PRIx64 ", %" PRIx64 ") counter word %08x on %s:\n  got      %s\n  expected %s",
              name.c_str(), bounds.minval, bounds.maxval, words[0], kernels.name, got.c_str(), expected.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: test_vectors vectors.txt\n");
    return 2;
  }
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    if (!kernels->available()) {
      check::Skip(kernels->name, "this processor lacks it");
      continue;
    }
    std::ifstream file(argv[1]);
    unsigned lines = 0;
    for (std::string text; std::getline(file, text);) {
      if (text.empty() || text[0] == '#') continue;
      std::istringstream line(text);
      std::string what;
      line >> what;
      if (what == "block") {
        CheckBlock(line);
      } else if (what == "advance") {
        CheckAdvance(line);
      } else if (what == "seeds") {
        CheckSeeds(line, *kernels);
      } else if (what == "draw") {
        CheckDraw(line, *kernels);
      } else {
        check::That(false, "vectors.txt has a line of unknown kind \"%s\"", what.c_str());
      }
      check::That(!line.fail(), "a line of vectors.txt ends early: %.60s", text.c_str());
      ++lines;
    }
    std::printf("%s: %u lines\n", kernels->name, lines);
    check::That(lines > 150, "%s has only %u lines", argv[1], lines);
  }
  return check::Finish(450);
}
