/// One :predict, :classify or :regress.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/request/inner_request.h"
#include "frontends/common/routes/call_origin.h"
#include "frontends/tfserving/answer/tensor_answer.h"
#include "frontends/tfserving/calls/serving_context.h"
#include "frontends/tfserving/request/tensor_requests.h"

namespace atl::frontends::tfserving {

/// Gives the rows of a call to the model, in as many requests as its batches need, and joins what comes back. Lives from its
/// making until the last request has ended, and deletes itself.
class TensorCall {
 public:
  /// Answers the exchange, now or later. [any] \param pass  of the plugin's gate, kept until the end
  static void start(const RestContext& context, HttpExchange& exchange, const CallTarget& target,
                    CallOrigin origin, Pass pass);

 private:
  class Item;
  struct Failure {
    Status status;
    uint32_t retry_after_ms = 0;
  };

  TensorCall(const RestContext& context, HttpExchange& exchange, RestAction action, TensorRequest request,
             CallOrigin origin, ModelRef model, Pass pass);
  TensorCall(const TensorCall&) = delete;
  TensorCall& operator=(const TensorCall&) = delete;
  ~TensorCall();

  void run() noexcept;
  Status make_items();
  void make_item(int64_t first, int64_t count, bool has_all);
  /// One request has ended. The call may be gone when this returns. [any]
  void part_done() noexcept;
  /// The first failure counts; the other requests are cancelled. [any]
  void fail(Status status, uint32_t retry_after_ms = 0) noexcept;
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void finish() noexcept;
  Result<std::string> answer_text();

  const RestContext& context_;
  HttpExchange& exchange_;
  Pass pass_;
  const RestAction action_;
  const TensorRequest request_;
  const CallOrigin origin_;
  ModelRef model_;
  Request parent_;    ///< is given to no model: it has what the requests have in common
  Cancellation all_;  ///< is cancelled with the exchange
  CancelLink link_;
  std::vector<std::unique_ptr<Item>> items_;
  std::atomic<size_t> open_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  ///< guards what follows
  Failure failure_;
};

}  // namespace atl::frontends::tfserving
