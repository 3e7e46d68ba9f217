/// What one request has reserved of the memory of all requests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "atoll/followed_service.h"
#include "atoll/request_memory.h"

namespace atl::frontends {

/// Stays with the service that gave it its first bytes until it is released, also if another one takes its
/// place meanwhile. Without a service everything is allowed. Not thread safe; moves between threads.
class RequestCharge {
 public:
  using Source = Followed<RequestMemory>;
  /// After how long a client that was refused is to try again.
  static constexpr uint32_t kRetryAfterMs = 1000;

  RequestCharge() noexcept = default;
  RequestCharge(RequestCharge&& other) noexcept
      : source_(other.source_),
        code_(other.code_),
        service_(std::move(other.service_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  /// What was charged here is given back; the source stays.
  RequestCharge& operator=(RequestCharge&& other) noexcept {
    if (this != &other) {
      release();
      service_ = std::move(other.service_);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~RequestCharge() { release(); }

  /// Set once, before use; outlives this. \param refused  the code of a refusal, as the transport maps codes
  void set_source(const Source& source, Code refused = Code::kResourceExhausted) noexcept {
    source_ = &source;
    code_ = refused;
  }

  /// Reserves so many bytes more. Errors: set_source()'s code, requests would take more than the limit; what
  /// was reserved stays.
  Status add(uint64_t bytes) noexcept {
    if (!service_ && (source_ == nullptr || !(service_ = source_->hold()))) return {};
    if (Status status = service_->reserve(bytes); !status.ok()) {
      refused_ = status.message();
      return refused();
    }
    bytes_ += bytes;
    return {};
  }
  /// Reserves what is missing of so many bytes in all. Errors: as add().
  Status cover(uint64_t bytes) noexcept { return bytes <= bytes_ ? Status() : add(bytes - bytes_); }
  /// Whether so many bytes could be added now. Errors: as add().
  Status check(uint64_t bytes) const noexcept {
    auto service = source_ == nullptr ? Source::Hold() : source_->hold();
    if (!service) return {};
    Status status = service->check(bytes);
    return status.ok() ? Status() : Status(code_, std::string(status.message()));
  }
  /// Gives back so many of the bytes.
  void reduce(uint64_t bytes) noexcept {
    if (!service_) return;
    const uint64_t given = bytes < bytes_ ? bytes : bytes_;
    service_->release(given);
    bytes_ -= given;
  }
  void release() noexcept {
    reduce(bytes_);
    service_.reset();
    refused_.clear();
  }
  /// Moves to the present service if the one of this charge has gone: for what may go on for longer than a
  /// service is waited for. Errors: as add(); nothing is reserved then.
  Status renew() noexcept {
    if (!service_.is_outdated()) return {};
    const uint64_t bytes = bytes_;
    release();
    return add(bytes);
  }

  uint64_t bytes() const noexcept { return bytes_; }
  /// The last refusal since the last release, for those whose failure is a consequence of it. OK: none.
  Status refused() const noexcept { return refused_.empty() ? Status() : Status(code_, refused_); }

 private:
  const Source* source_ = nullptr;  ///< null: nothing is limited
  Code code_ = Code::kResourceExhausted;
  Source::Hold service_;
  uint64_t bytes_ = 0;
  std::string refused_;  ///< empty: nothing was
};

}  // namespace atl::frontends
