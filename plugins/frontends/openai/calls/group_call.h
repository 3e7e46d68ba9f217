/// One exchange that is answered by requests to a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/core/guarded.h"
#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/models/model.h"
#include "atoll/models/model_identifier.h"
#include "atoll/request/inner_request.h"
#include "atoll/request/tracing.h"
#include "frontends/common/call/router_slot.h"
#include "frontends/common/routes/call_origin.h"
#include "frontends/openai/answer/answer_format.h"
#include "frontends/openai/api_error.h"
#include "frontends/openai/calls/generation_metrics.h"
#include "frontends/openai/calls/stream_pings.h"
#include "frontends/openai/model_profile.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// What calls need of the plugin. Outlives them.
struct OpenAiContext {
  OpenAiContext(Host& of, ModelCatalog& models, RouterSlot& route, Followed<Tracing>& traces,
                const std::map<std::string, std::string>& names, ModelProfiles& known, StreamPings& signs)
      : host(of),
        catalog(models),
        router(route),
        tracing(traces),
        aliases(names),
        profiles(known),
        pings(signs),
        started_s(of.clock().wall_ns() / kNsPerSecond) {}

  Host& host;
  ModelCatalog& catalog;
  RouterSlot& router;
  Followed<Tracing>& tracing;
  const std::map<std::string, std::string>& aliases;
  ModelProfiles& profiles;
  StreamPings& pings;
  const int64_t started_s;  ///< Unix time
  GenerationMetrics metrics;
  std::atomic<uint64_t> unknown_fields{0};  ///< of all requests

  void count_unknown(uint32_t fields) noexcept {
    unknown_fields.fetch_add(fields, std::memory_order_relaxed);
  }
  /// The model that a name or alias stands for.
  const std::string& model_of(const std::string& name) const noexcept {
    const auto alias = aliases.find(name);
    return alias == aliases.end() ? name : alias->second;
  }
  /// Errors: as ModelCatalog::acquire().
  Result<ModelRef> find(const std::string& name) const noexcept;
};

/// A model that is held, and what it can do.
struct FoundModel {
  ModelRef model;
  std::shared_ptr<const ModelProfile> profile;

  const ModelInfo& info() const noexcept { return model->info(); }
  bool has_input(std::string_view name) const noexcept { return profile->input(info(), name) != nullptr; }
  bool has_output(std::string_view name) const noexcept { return profile->output(info(), name) != nullptr; }
};
/// The model with this name or alias, if it has the role and the caller may use it; else why a request cannot be given to
/// it.
std::variant<FoundModel, ApiError> find_model(OpenAiContext& context, const CallOrigin& head,
                                              const std::string& name, Role role);

inline constexpr std::string_view kJsonType = "application/json";
/// Answers with the error, and ends the exchange.
void answer_error(HttpExchange& exchange, const ApiError& error,
                  ErrorJson write = &openai_error_json) noexcept;

/// Makes requests on behalf of one exchange and ends both when all of them have ended. Derived classes hold the requests and
/// write the answer. Lives from its making until its last request has ended, and deletes itself.
class GroupCall {
 public:
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;

 protected:
  /// \param pass  of the plugin's gate, kept until the end
  GroupCall(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, FoundModel model, Pass pass);
  virtual ~GroupCall();

  /// While run() makes the requests.
  const FoundModel& model() const noexcept { return model_; }
  const ModelProfile& profile() const noexcept { return *model_.profile; }
  HttpExchange& exchange() noexcept { return exchange_; }
  OpenAiContext& context() noexcept { return context_; }
  // Each of these adds to a request what the model has under this name, and nothing if it has none.
  void add_flag(Request& request, std::string_view name, bool value) const noexcept;
  /// \param encoded  BYTES elements, which outlive the request \param count  of elements
  void add_text(Request& request, std::string_view name, const std::string& encoded,
                size_t count = 1) const noexcept;
  /// \param ids  outlive the request
  void add_ids(Request& request, std::string_view name, const std::vector<int32_t>& ids) const noexcept;
  /// The text, or the ids in its place. \param encoded  the text
  void add_prompt(Request& request, const Prompt& prompt, const std::string& encoded) const noexcept;
  /// An output that is asked for.
  void add_wanted(Request& request, std::string_view name) const noexcept;
  /// As a BYTES element: its length and the text.
  static std::string encoded(std::string_view text);

  /// Makes the requests and gives them to the model. The call may be gone when this returns.
  /// \param requests  pointers to InnerRequest, each of which calls part_done() at its end
  /// \param make  adds the requests, with their inputs; may throw
  template <class Requests, class Make>
  void run(Requests& requests, Make&& make) noexcept {
    Status made = guarded("making the requests", [&] {
      make();
      return Status();
    });
    exchange_.cancellation().link(link_);
    if (!made.ok()) {
      fail(error_of(made));
      requests.clear();
    }
    // One more than there are, so that the call stays until all are submitted.
    open_.store(requests.size() + 1, std::memory_order_relaxed);
    for (const auto& request : requests) submit(*request);
    model_.model.reset();  // each request has its own: what drains a model counts these
    part_done();
  }
  /// One request has ended. The call, and so the request, may be gone when this returns. [any]
  void part_done() noexcept;
  /// As fail(). \param status  of a response; of a server that ends it becomes the reason for that
  void fail_with(const Status& status, uint32_t retry_after_ms = 0) noexcept;
  /// The call as a whole fails; the first failure counts. Its other requests are cancelled. [any, in a response]
  void fail(ApiError error) noexcept;
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// Everything has ended: to be answered, if it has not been. Ends the exchange. \param failure  null: none
  virtual void finish(const ApiError* failure) noexcept = 0;

 private:
  void submit(InnerRequest& inner) noexcept;

  OpenAiContext& context_;
  HttpExchange& exchange_;
  Pass pass_;
  FoundModel model_;
  const CallOrigin head_;
  Request parent_;    ///< is given to no model: it has what the requests have in common
  Cancellation all_;  ///< is cancelled with the exchange
  CancelLink link_;
  std::atomic<size_t> open_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  ///< guards failure_
  std::optional<ApiError> failure_;
};

}  // namespace atl::frontends::openai
