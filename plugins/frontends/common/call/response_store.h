/// The responses of one request, which are used again.
#pragma once

#include <utility>

#include "atoll/request/request.h"

namespace atl::frontends {

/// Not thread safe; one request's. Most requests have one response, which needs no memory of its own.
class ResponseStore {
 public:
  ResponseStore() noexcept = default;
  ResponseStore(const ResponseStore&) = delete;
  ResponseStore& operator=(const ResponseStore&) = delete;
  ~ResponseStore() {
    while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
  }

  /// An empty one. \param sink  that it is sent to
  Response* take(ResponseSink& sink) noexcept {
    Response* response = &first_;
    if (std::exchange(first_in_use_, true)) {
      response = spare_ != nullptr ? std::exchange(spare_, spare_->next) : new Response;
      response->next = nullptr;
    }
    response->sink = &sink;
    return response;
  }
  /// Takes back one that was written or dropped. Its outputs have no memory any more.
  void give(Response* response) noexcept {
    response->reset();
    if (response == &first_) {
      first_in_use_ = false;
    } else {
      response->next = std::exchange(spare_, response);
    }
  }

 private:
  bool first_in_use_ = false;
  Response first_;
  Response* spare_ = nullptr;  ///< list of further ones that may be used again
};

}  // namespace atl::frontends
