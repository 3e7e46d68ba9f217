/// One exchange that is answered by requests to a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/models/model.h"
#include "atoll/request/inner_request.h"
#include "atoll/request/tracing.h"
#include "frontends/common/call/router_slot.h"
#include "frontends/openai/api_error.h"

namespace atl::frontends::openai {

/// What calls need of the plugin. Outlives them.
struct OpenAiContext {
  Host& host;
  ModelCatalog& catalog;
  RouterSlot& router;
  Followed<Tracing>& tracing;
  const std::map<std::string, std::string>& aliases;

  /// Errors: as ModelCatalog::acquire().
  Result<ModelRef> find(const std::string& name) const noexcept;
};

/// What a call has from its head, which can be read only before it is handed to another thread.
struct CallOrigin {
  std::string tenant, traceparent, tracestate;
};

inline constexpr std::string_view kJsonType = "application/json";
/// Answers with the error, and ends the exchange.
void answer_error(HttpExchange& exchange, const ApiError& error) noexcept;

/// Makes requests on behalf of one exchange and ends both when all of them have ended. Derived classes hold the requests and
/// write the answer. Lives from its making until its last request has ended, and deletes itself.
class GroupCall {
 public:
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;

 protected:
  /// \param pass  of the plugin's gate, kept until the end
  GroupCall(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, ModelRef model, Pass pass);
  virtual ~GroupCall();

  /// Before release_start().
  const ModelInfo& info() const noexcept { return model_->info(); }
  HttpExchange& exchange() noexcept { return exchange_; }
  /// Fills in the inputs that the request has beside its text. \param value  of all BOOL inputs with this name
  static void add_flag(Request& request, const ModelInfo& model, std::string_view name, bool value) noexcept;
  /// \param encoded  one BYTES element, which outlives the request
  static void add_text(Request& request, const ModelInfo& model, std::string_view name,
                       const std::string& encoded) noexcept;
  static void add_wanted(Request& request, const ModelInfo& model, std::string_view name) noexcept;
  /// As a BYTES element: its length and the text.
  static std::string encoded(std::string_view text);

  /// Says how many requests there will be. The call stays until as many have ended, and release_start() was called.
  void expect(size_t requests) noexcept { open_.store(requests + 1, std::memory_order_relaxed); }
  /// Gives a request, whose inputs are filled in, to the model. It may have ended when this returns.
  void submit(InnerRequest& inner) noexcept;
  /// All requests have been submitted. The call may be gone when this returns.
  void release_start() noexcept {
    model_.reset();  // each request has its own: what drains a model counts these
    part_done();
  }
  /// One request has ended. The call, and so the request, may be gone when this returns. [any]
  void part_done() noexcept;
  /// The call as a whole fails; the first failure counts. Its other requests are cancelled. [any, in a response]
  void fail(ApiError error) noexcept;
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// Everything has ended: to be answered, if it has not been. Ends the exchange. \param failure  null: none
  virtual void finish(const ApiError* failure) noexcept = 0;

 private:
  OpenAiContext& context_;
  HttpExchange& exchange_;
  Pass pass_;
  ModelRef model_;
  const CallOrigin head_;
  Request parent_;    ///< is given to no model: it has what the requests have in common
  Cancellation all_;  ///< is cancelled with the exchange
  CancelLink link_;
  std::atomic<size_t> open_{1};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  ///< guards failure_
  std::optional<ApiError> failure_;
};

}  // namespace atl::frontends::openai
