/// TensorFlow Serving's REST API as routes of the HTTP frontend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/services.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/routes/call_origin.h"
#include "frontends/tfserving/calls/serving_context.h"

namespace atl::frontends::tfserving {

struct ServingSettings {
  std::string prefix;  ///< of every path; empty: none
  TenantHeader tenant;
  uint64_t max_elements = 0;
  bool has_kserve_status = false;
};

class ServingRoutes final : public HttpRoutes {
 public:
  ServingRoutes(Host& host, ServingSettings settings);
  ServingRoutes(const ServingRoutes&) = delete;
  ServingRoutes& operator=(const ServingRoutes&) = delete;
  virtual ~ServingRoutes() = default;

  /// Errors: no model catalog; no thread to be had. [control]
  Status start();
  /// After the last call. [control]
  void stop();

  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void take(HttpExchange& exchange, Pass pass);
  void answer(HttpExchange& exchange, const CallTarget& target, CallOrigin origin, Pass pass) noexcept;

  Host& host_;
  const ServingSettings settings_;
  const std::string models_path_;  ///< with the prefix
  Service<ModelCatalog> catalog_;
  RouterSlot router_;
  Followed<Tracing> tracing_;
  std::optional<RestContext> context_;
  SerialExecutorPtr slow_;  ///< for lists of models and large bodies
};

/// Why the text cannot be a prefix of paths; empty: it can. "" can.
std::string wrong_prefix(std::string_view prefix);

}  // namespace atl::frontends::tfserving
