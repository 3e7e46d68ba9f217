/// How a request's cancellation reaches its run and its steps.
#pragma once

#include <utility>

#include "atoll/request/request.h"

namespace atl::ensemble {

/// The steps are cancelled with the request, or alone, when it has failed; the run listens while something waits.
class RunCancellation {
 public:
  /// \param run  outlives this
  explicit RunCancellation(CancelListener& run) noexcept : run_(run) {}

  /// It is the request's from now on.
  void begin(Request& request) noexcept { request_ = &request.cancellation; }
  /// Its cancellation is heard until end(). \returns false if it is cancelled already
  bool listen() noexcept {
    if (!listens_) listens_ = request_->listen(&run_, nullptr);
    return listens_;
  }
  /// Steps are made from now on.
  void link() noexcept {
    steps_.reset();
    link_.child = &steps_;
    request_->link(link_);
    is_linked_ = true;
  }
  Cancellation& steps() noexcept { return steps_; }
  /// Nothing of this is called any more, and the steps have ended.
  void end() noexcept {
    if (std::exchange(listens_, false)) request_->stop_listening();
    if (std::exchange(is_linked_, false)) request_->unlink(link_);
  }

 private:
  CancelListener& run_;
  Cancellation* request_ = nullptr;
  Cancellation steps_;
  CancelLink link_;
  bool listens_ = false;
  bool is_linked_ = false;
};

}  // namespace atl::ensemble
