/// Memory of requests for tests of frontends: counted exactly, with a limit that a test may change.
#pragma once

#include <atomic>

#include "atoll/request_memory.h"

namespace atl::test {

/// [any]
class FakeRequestMemory final : public RequestMemory {
 public:
  static constexpr std::string_view kRefusal = "no more memory for requests";

  /// \param limit_bytes  0: none
  explicit FakeRequestMemory(uint64_t limit_bytes = 0) noexcept : limit_bytes_(limit_bytes) {}
  virtual ~FakeRequestMemory() = default;
  void set_limit(uint64_t limit_bytes) noexcept { limit_bytes_ = limit_bytes; }

  Status reserve(uint64_t bytes) noexcept override {
    uint64_t used = used_bytes_;
    do {
      if (!fits(used, bytes)) return refuse();
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    uint64_t most = most_bytes_;
    while (most < used + bytes && !most_bytes_.compare_exchange_weak(most, used + bytes)) {
    }
    return {};
  }
  void release(uint64_t bytes) noexcept override { used_bytes_ -= bytes; }
  Status check(uint64_t bytes) noexcept override { return fits(used_bytes_, bytes) ? Status() : refuse(); }
  uint64_t used_bytes() const noexcept override { return used_bytes_; }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }
  /// Most bytes that were reserved at a time.
  uint64_t most_bytes() const noexcept { return most_bytes_; }

 private:
  bool fits(uint64_t used, uint64_t bytes) const noexcept {
    return limit_bytes_ == 0 || (bytes <= limit_bytes_ && used <= limit_bytes_ - bytes);
  }
  static Status refuse() { return Status(Code::kResourceExhausted, std::string(kRefusal)); }

  std::atomic<uint64_t> limit_bytes_;
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> most_bytes_{0};
};

}  // namespace atl::test
