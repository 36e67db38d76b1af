// Text as Python prints it, and the form of a refusal, which is that of the Python package.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "output.h"
#include "sentences.h"

namespace onnx_philox {

/// A dimension that is not known.
constexpr std::int64_t kUnknownDimension = -1;

/// A form of sentences.h with its parts in the places of {0}, {1} and so on.
std::string Worded(const char* form, std::initializer_list<std::string> parts);

/// An error of four parts, worded by say::kForm after the operator's name.
std::string Refusal(const char* op, const std::string& what, const std::string& given, const std::string& allowed,
                    const std::string& remedy);

/// What a refusal is about: input 'state', attribute 'op_seed', output 'values'.
std::string InputText(const char* name);
std::string AttributeText(const std::string& name);
std::string OutputText(const char* name);

/// A number as Python prints it: 2.0, 0.1, 1e-05, nan, inf.
std::string ShowFloat(double value);
/// The number of a type that has these bits.
std::string ShowNumber(OutputType type, std::uint64_t bits);
/// A text as Python prints it: in quotes, with escapes; bytes that are not UTF-8 become U+FFFD.
std::string ShowText(const std::string& text);
/// [2, ?, 3]: ? for kUnknownDimension if `unknowns`, otherwise the number itself.
std::string ShowDimensions(const std::int64_t* dimensions, int rank, bool unknowns = false);
/// 1234567 as 1,234,567.
std::string ShowBytes(std::uint64_t bytes);

}  // namespace onnx_philox
