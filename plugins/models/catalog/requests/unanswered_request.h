/// Requests of a model whose answers leave in the order in which they came.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/models/model.h"
#include "atoll/request/sink_interposer.h"

namespace atl::models {

/// Stands before a request's sink until its answer has left. In the request's arena; the model, and with it the
/// count, is held until then.
class UnansweredRequest final : public SinkInterposer {
 public:
  /// \returns whether no request that came before is unanswered: this one may be answered at once
  static bool watch(Request& request, std::atomic<uint64_t>& count) noexcept {
    request.model->add_reference();
    request.arena().make<UnansweredRequest>(request, count)->interpose(request);
    return count.fetch_add(1, std::memory_order_acq_rel) == 0;
  }

  void send(Response* response, uint32_t flags) noexcept override {
    if ((flags & kFinal) == 0) return SinkInterposer::send(response, flags);
    // The request may be used for another one when its answer has left.
    Model& model = model_;
    std::atomic<uint64_t>& count = count_;
    SinkInterposer::send(response, flags);
    count.fetch_sub(1, std::memory_order_acq_rel);
    model.drop_reference();
  }

 private:
  friend class atl::Arena;
  UnansweredRequest(Request& request, std::atomic<uint64_t>& count) noexcept
      : model_(*request.model), count_(count) {}

  Model& model_;
  std::atomic<uint64_t>& count_;
};

}  // namespace atl::models
