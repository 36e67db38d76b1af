// Names of attributes: see attribute_names.h.
#include "attribute_names.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace onnx_philox {

namespace {

/// The letters of `a` and `b` that Python's difflib.SequenceMatcher pairs: those of the longest part that both have, the
/// first such part, and those that are paired before and after it.
std::size_t Paired(const std::string& a, const std::string& b) {
  std::size_t longest = 0, in_a = 0, in_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t length = 0;
      while (i + length < a.size() && j + length < b.size() && a[i + length] == b[j + length]) ++length;
      if (length > longest) {
        longest = length;
        in_a = i;
        in_b = j;
      }
    }
  }
  if (longest == 0) return 0;
  return longest + Paired(a.substr(0, in_a), b.substr(0, in_b)) +
         Paired(a.substr(in_a + longest), b.substr(in_b + longest));
}

/// Adds the names that are one slip away from a name.
void AddSlips(const std::string& name, const Mistake& kind, std::map<std::string, Mistake>* all) {
  const auto add = [&](const std::string& slip) {
    Mistake& mistake = all->emplace(slip, Mistake{slip, false, false}).first->second;
    mistake.is_text |= kind.is_text;
    mistake.is_integer |= kind.is_integer;
  };
  const std::string vowels = "aeiou";
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string before = name.substr(0, i), after = name.substr(i + 1);
    const char letter = name[i];
    add(before + after);
    add(before + letter + letter + after);
    if (!after.empty()) add(before + after[0] + letter + after.substr(1));
    if (vowels.find(letter) == std::string::npos) continue;
    for (const char vowel : vowels) add(before + vowel + after);
  }
  std::string camel, dashed = name, upper = name, title = name;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char capital = name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
    upper[i] = capital;
    if (i == 0 || name[i - 1] == '_') title[i] = capital;
    if (name[i] == '_') {
      dashed[i] = '-';
    } else {
      const bool begins = i > 0 && name[i - 1] == '_';
      camel += begins ? capital : name[i];
    }
  }
  add(camel);
  add(dashed);
  add(upper);
  add(title);
}

std::vector<Mistake> FindMistakes(const Operator& op) {
  std::map<std::string, Mistake> all;
  for (int i = 0; i < op.attributes; ++i) {
    const bool is_text = op.attribute[i].is_text();
    AddSlips(op.attribute[i].name, Mistake{"", is_text, !is_text}, &all);
  }
  for (const Operator* other : kAllOperators) {
    for (int i = 0; i < other->attributes; ++i) {
      const std::string name = other->attribute[i].name;
      all[name] = Mistake{name, true, true};
    }
  }
  for (const char* name : kForeignAttributes) all[name] = Mistake{name, true, true};
  std::vector<Mistake> mistakes;
  for (const auto& [name, mistake] : all) {
    if (!HasAttribute(op, name)) mistakes.push_back(mistake);
  }
  return mistakes;
}

}  // namespace

bool HasAttribute(const Operator& op, const std::string& name) {
  for (int i = 0; i < op.attributes; ++i) {
    if (name == op.attribute[i].name) return true;
  }
  return false;
}

std::string NearestAttribute(const Operator& op, const std::string& name) {
  // difflib.get_close_matches(name, names, n=1)
  constexpr double kLeast = 0.6;
  constexpr std::size_t kLong = 100;  // like none of ours
  std::pair<double, std::string> best;
  for (int i = 0; i < op.attributes && name.size() < kLong; ++i) {
    const std::string known = op.attribute[i].name;
    const std::size_t letters = known.size() + name.size();
    const double ratio = 2.0 * static_cast<double>(Paired(known, name)) / static_cast<double>(letters);
    if (ratio >= kLeast) best = std::max(best, std::make_pair(ratio, known));
  }
  return best.second;
}

const std::vector<Mistake>& Mistakes(const Operator& op) {
  static const std::map<std::string, std::vector<Mistake>> all = [] {
    std::map<std::string, std::vector<Mistake>> made;
    for (const Operator* each : kAllOperators) made[each->name] = FindMistakes(*each);
    return made;
  }();
  return all.at(op.name);
}

}  // namespace onnx_philox
