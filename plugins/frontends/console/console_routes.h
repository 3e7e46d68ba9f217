/// The console as routes of the HTTP frontend: the files of its page, and the calls that the page needs beside those of V2.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/services.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/caller_check.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/page_files.h"

namespace atl::frontends::console {

class ConsoleRoutes final : public HttpRoutes {
 public:
  /// \param host  outlives this object
  ConsoleRoutes(Host& host, CallerRules rules) : host_(host), callers_(host, std::move(rules)) {}
  ConsoleRoutes(const ConsoleRoutes&) = delete;
  ConsoleRoutes& operator=(const ConsoleRoutes&) = delete;
  virtual ~ConsoleRoutes() = default;

  /// Errors: no model catalog; no thread to be had. [control]
  Status start();
  /// After the last request. [control]
  void stop();

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void take(std::string_view route, HttpExchange& exchange, Pass pass);
  void answer_file(HttpExchange& exchange) const;
  void answer_overview(HttpExchange& exchange);
  void answer_models(HttpExchange& exchange, const ModelsQuery& query);

  Host& host_;
  const PageFiles files_;
  CallerCheck callers_;
  Service<ModelCatalog> catalog_;
  std::optional<CatalogView> view_;  ///< for tasks of slow_
  SerialExecutorPtr slow_;
  ServerFacts server_;
};

}  // namespace atl::frontends::console
