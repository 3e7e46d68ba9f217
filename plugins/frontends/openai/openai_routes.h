/// OpenAI's API as routes of the HTTP frontend.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/metrics.h"
#include "atoll/core/services.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/call/tenant_header.h"
#include "frontends/openai/calls/group_call.h"
#include "frontends/openai/model_profile.h"

namespace atl::frontends::openai {

struct OpenAiSettings {
  std::map<std::string, std::string> aliases;  ///< names for models
  TenantHeader tenant;
  ToolSyntax tool_syntax = ToolSyntax::kHermes;  ///< of models that do not say
  bool vllm_metrics = false;                     ///< metrics under the names of vLLM, too
  int64_t ping_interval_ns = 15 * kNsPerSecond;  ///< 0: no pings
};

class OpenAiRoutes final : public HttpRoutes, public MetricSource {
 public:
  OpenAiRoutes(Host& host, OpenAiSettings settings)
      : host_(host),
        settings_(std::move(settings)),
        router_(host),
        tracing_(host),
        profiles_(settings_.tool_syntax) {}
  OpenAiRoutes(const OpenAiRoutes&) = delete;
  OpenAiRoutes& operator=(const OpenAiRoutes&) = delete;
  virtual ~OpenAiRoutes() = default;

  /// Errors: no model catalog; no thread to be had. [control]
  Status start();
  /// After the last call. [control]
  void stop();

  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;
  std::string refusal(std::string_view route, HttpReply& reply,
                      std::string_view text) const noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  struct Entry;
  static const Entry kEntries[];

  void answer(const Entry& entry, HttpExchange& exchange, CallOrigin head, Pass pass) noexcept;

  Host& host_;
  const OpenAiSettings settings_;
  Service<ModelCatalog> catalog_;
  RouterSlot router_;
  Followed<Tracing> tracing_;
  ModelProfiles profiles_;
  std::optional<OpenAiContext> context_;
  SerialExecutorPtr slow_;  ///< for lists of models and large bodies
  std::optional<StreamPings> pings_;
};

}  // namespace atl::frontends::openai
