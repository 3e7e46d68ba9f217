/// Records in a message's payload: how they are written, and how those of a worker are read. A worker may change what it has written while it
/// is read: everything is copied first and checked then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "backends/python/memory/protocol.h"

namespace atl::python {

/// Writes records one after the other, or, without memory, finds out how much they take: the same calls made twice.
class PayloadWriter {
 public:
  PayloadWriter() = default;
  /// \param memory  as large as what is written takes
  explicit PayloadWriter(std::byte* memory) noexcept : memory_(memory) {}

  uint64_t size_bytes() const noexcept { return size_; }
  /// Room that put() fills. \returns its offset, aligned
  template <class Record>
  uint32_t reserve(size_t count = 1) noexcept {
    return reserve_bytes(count * sizeof(Record), 8);
  }
  uint32_t reserve_bytes(uint64_t size, uint64_t alignment) noexcept {
    const uint64_t at = (size_ + alignment - 1) / alignment * alignment;
    size_ = at + size;
    return static_cast<uint32_t>(at);
  }
  template <class Record>
  void put(uint64_t offset, const Record& record) noexcept {
    if (memory_ != nullptr) std::memcpy(memory_ + offset, &record, sizeof record);
  }
  TextRef add_text(std::string_view text) noexcept {
    if (text.empty()) return {};
    const TextRef ref{static_cast<uint32_t>(size_), static_cast<uint32_t>(text.size())};
    if (memory_ != nullptr) std::memcpy(memory_ + size_, text.data(), text.size());
    size_ += text.size();
    return ref;
  }
  template <class Item>
  uint32_t add_array(std::span<const Item> items) noexcept {
    const uint32_t at = reserve<Item>(items.size());
    if (memory_ != nullptr && !items.empty()) std::memcpy(memory_ + at, items.data(), items.size_bytes());
    return at;
  }
  /// Null while it is only counted.
  std::byte* at(uint64_t offset) const noexcept { return memory_ == nullptr ? nullptr : memory_ + offset; }

 private:
  std::byte* memory_ = nullptr;
  uint64_t size_ = 0;
};

/// A payload that a worker has written.
class PayloadView {
 public:
  PayloadView() = default;
  PayloadView(const std::byte* data, uint64_t size_bytes) noexcept : data_(data), size_(size_bytes) {}

  uint64_t size_bytes() const noexcept { return size_; }
  /// \returns false: it is not all inside
  template <class Record>
  bool read(uint64_t offset, Record& record) const noexcept {
    if (!has(offset, sizeof record)) return false;
    std::memcpy(&record, data_ + offset, sizeof record);
    return true;
  }
  template <class Item>
  bool read_array(uint64_t offset, std::span<Item> items) const noexcept {
    if (!has(offset, items.size_bytes())) return false;
    if (!items.empty()) std::memcpy(items.data(), data_ + offset, items.size_bytes());
    return true;
  }
  bool read(TextRef ref, std::string& text) const {
    if (!has(ref.offset, ref.size_bytes)) return false;
    text.assign(reinterpret_cast<const char*>(data_) + (ref.size_bytes == 0 ? 0 : ref.offset),
                ref.size_bytes);
    return true;
  }
  /// The whole, or its beginning, as a text.
  std::string text(uint64_t size_bytes) const {
    return {reinterpret_cast<const char*>(data_), size_bytes < size_ ? size_bytes : size_};
  }
  const std::byte* data() const noexcept { return data_; }

 private:
  bool has(uint64_t offset, uint64_t size) const noexcept { return size <= size_ && offset <= size_ - size; }

  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace atl::python
