/// OpenAI's API as routes of the HTTP frontend.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/metrics.h"
#include "atoll/core/services.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/call/tenant_header.h"
#include "frontends/openai/answers.h"
#include "frontends/openai/group_call.h"
#include "frontends/openai/model_role.h"

namespace atl::frontends::openai {

struct OpenAiSettings {
  std::map<std::string, std::string> aliases;  ///< names for models
  TenantHeader tenant;
};

class OpenAiRoutes final : public HttpRoutes, public MetricSource {
 public:
  OpenAiRoutes(Host& host, OpenAiSettings settings)
      : host_(host), settings_(std::move(settings)), router_(host), tracing_(host) {}
  OpenAiRoutes(const OpenAiRoutes&) = delete;
  OpenAiRoutes& operator=(const OpenAiRoutes&) = delete;
  virtual ~OpenAiRoutes() = default;

  /// Errors: no model catalog; no thread to be had. [control]
  Status start();
  /// After the last call. [control]
  void stop();

  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  enum class Endpoint : uint32_t { kModels, kModel, kChat, kCompletions, kEmbeddings };
  struct Entry;
  static const Entry kEntries[];

  Result<CallOrigin> read_head(const HttpExchange& exchange) const;
  void answer(Endpoint endpoint, HttpExchange& exchange, CallOrigin head, Pass pass) noexcept;
  /// The model with this name or alias, if it has the role; else why a request cannot be given to it.
  std::variant<ModelRef, ApiError> find(const std::string& name, Role role) const;
  void complete(bool is_chat, HttpExchange& exchange, CallOrigin head, Pass pass);
  void embed(HttpExchange& exchange, CallOrigin head, Pass pass);
  /// [any, may take long]
  void list(HttpExchange& exchange) noexcept;
  void show(HttpExchange& exchange, std::string_view id);
  /// A model by its name or alias. Nothing: there is none, or it has no role.
  std::optional<ListedModel> listed(const std::string& name) const;
  void count_unknown(uint32_t fields) noexcept {
    unknown_fields_.fetch_add(fields, std::memory_order_relaxed);
  }

  Host& host_;
  const OpenAiSettings settings_;
  Service<ModelCatalog> catalog_;
  RouterSlot router_;
  Followed<Tracing> tracing_;
  std::optional<OpenAiContext> context_;
  SerialExecutorPtr slow_;  ///< for lists of models and large bodies
  int64_t started_s_ = 0;   ///< Unix time
  std::atomic<uint64_t> unknown_fields_{0};
};

}  // namespace atl::frontends::openai
