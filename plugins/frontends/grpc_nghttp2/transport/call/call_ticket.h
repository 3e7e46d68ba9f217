/// How many calls of a connection are at work.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {

/// Calls of one connection whose work is not done, those included that their client has reset: resetting them
/// brings no room for others. Of the connection's thread.
class RunningCalls : public boost::intrusive_ref_counter<RunningCalls, boost::thread_unsafe_counter> {
 public:
  uint32_t count = 0;
};

/// One of them.
class CallTicket {
 public:
  CallTicket() noexcept = default;
  explicit CallTicket(boost::intrusive_ptr<RunningCalls> calls) noexcept : calls_(std::move(calls)) {
    ++calls_->count;
  }
  CallTicket(CallTicket&&) noexcept = default;
  CallTicket& operator=(CallTicket&& other) noexcept {
    release();
    calls_ = std::move(other.calls_);
    return *this;
  }
  ~CallTicket() { release(); }
  void release() noexcept {
    if (calls_ != nullptr) --calls_->count;
    calls_.reset();
  }

 private:
  boost::intrusive_ptr<RunningCalls> calls_;
};

}  // namespace atl::frontends::grpc_nghttp2
