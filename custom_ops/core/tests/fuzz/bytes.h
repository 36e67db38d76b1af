// What a fuzzer's input is read as; past its end everything is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

/// The bytes of an input, in order.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  void Fill(void* target, std::size_t bytes) {
    const std::size_t count = std::min(bytes, left_);
    std::memset(target, 0, bytes);
    if (count == 0) return;
    std::memcpy(target, data_, count);
    data_ += count;
    left_ -= count;
  }
  unsigned Byte() {
    unsigned char byte = 0;
    Fill(&byte, 1);
    return byte;
  }
  std::int64_t Integer() {
    std::int64_t integer = 0;
    Fill(&integer, sizeof(integer));
    return integer;
  }
  std::string Text() {
    std::string text(Byte() % 24, '\0');
    if (!text.empty()) Fill(&text[0], text.size());
    return text;
  }
  std::size_t left() const { return left_; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};
