/// A response as it is kept: in one piece, and given again to whoever asks the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/request/request.h"

namespace atl::caches {

/// An output as it is kept.
struct KeptOutput {
  std::string_view name;
  DataType datatype = DataType::kInvalid;
  std::span<const int64_t> shape;
  const void* data = nullptr;
  uint64_t size_bytes = 0;
};

/// Answers the request and releases it: with these outputs, where its client wants them, under its own id.
/// Everything is copied.
void answer_again(Request& request, std::span<const KeptOutput> outputs,
                  std::span<const Parameter> parameters) noexcept;

/// Names, types, shapes, bytes and parameters of a response. Never changes; counted, because hits copy it while it may
/// be thrown out. [any]
class KeptAnswer {
 public:
  KeptAnswer(const KeptAnswer&) = delete;
  KeptAnswer& operator=(const KeptAnswer&) = delete;

  /// A holder; the answer goes with the last one.
  class Ref {
   public:
    Ref() noexcept = default;
    explicit Ref(KeptAnswer* answer) noexcept : answer_(answer) {}
    Ref(const Ref& other) noexcept : answer_(other.answer_) {
      if (answer_ != nullptr) answer_->holders_.fetch_add(1, std::memory_order_relaxed);
    }
    Ref(Ref&& other) noexcept : answer_(std::exchange(other.answer_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(answer_, other.answer_);
      return *this;
    }
    ~Ref() {
      if (answer_ != nullptr && answer_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        destroy(answer_);
    }
    explicit operator bool() const noexcept { return answer_ != nullptr; }
    const KeptAnswer* operator->() const noexcept { return answer_; }

   private:
    KeptAnswer* answer_ = nullptr;
  };

  /// A copy of the response. Empty if an output is not there for the CPU, or there is no memory.
  static Ref copy_of(const Response& response) noexcept;
  /// What copy_of() would take, overhead included.
  static uint64_t size_of(const Response& response) noexcept;

  uint64_t size_bytes() const noexcept { return size_bytes_; }
  void answer(Request& request) const noexcept {
    answer_again(request, {outputs(), outputs_count_}, {parameters(), parameters_count_});
  }

 private:
  class Writer;

  KeptAnswer() noexcept = default;
  static void destroy(KeptAnswer* answer) noexcept;
  const KeptOutput* outputs() const noexcept;
  const Parameter* parameters() const noexcept;

  std::atomic<uint32_t> holders_{1};
  uint32_t outputs_count_ = 0, parameters_count_ = 0;
  uint64_t size_bytes_ = 0;
};

}  // namespace atl::caches
