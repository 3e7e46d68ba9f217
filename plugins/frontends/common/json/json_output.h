/// Memory that JSON is written into.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace atl::frontends {

/// A growing buffer that is reused, and an output stream for RapidJSON's Writer. When memory runs out it
/// stops taking bytes and says so, instead of ending the process. Not thread safe.
class JsonOutput {
 public:
  using Ch = char;

  JsonOutput() noexcept = default;
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;
  ~JsonOutput() { std::free(data_); }

  /// Valid until the next change.
  std::string_view text() const noexcept { return {data_, size_}; }
  /// Memory ran out: what text() shows is not complete.
  bool failed() const noexcept { return failed_; }
  /// Empties the buffer; gives back memory beyond 1 MiB.
  void reset() noexcept {
    size_ = 0;
    failed_ = false;
    if (capacity_ > kKeptBytes) {
      std::free(data_);
      data_ = nullptr;
      capacity_ = 0;
    }
  }

  /// Room for so many more bytes, at *space()* on; advance() then takes them.
  bool reserve(size_t bytes) noexcept { return (size_ + bytes <= capacity_ && !failed_) || grow(bytes); }
  char* space() noexcept { return data_ + size_; }
  void advance(size_t bytes) noexcept { size_ += bytes; }
  void append(std::string_view bytes) noexcept {
    if (bytes.empty() || !reserve(bytes.size())) return;
    std::memcpy(space(), bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  // --- what RapidJSON's Writer asks of a stream ---
  void Put(char c) noexcept {
    if (reserve(1)) data_[size_++] = c;
  }
  void Flush() noexcept {}

 private:
  static constexpr size_t kKeptBytes = size_t{1} << 20;

  bool grow(size_t bytes) noexcept {
    if (failed_) return false;
    size_t wanted = capacity_ * 2 > size_ + bytes ? capacity_ * 2 : size_ + bytes + 256;
    auto* grown = static_cast<char*>(std::realloc(data_, wanted));
    if (grown == nullptr) {
      failed_ = true;
      return false;
    }
    data_ = grown;
    capacity_ = wanted;
    return true;
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  bool failed_ = false;
};

}  // namespace atl::frontends
