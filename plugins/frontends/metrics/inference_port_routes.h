/// The pages of metrics at the addresses of the HTTP frontend, for collectors that know no other.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/metrics/page_request.h"

namespace atl::frontends::metrics {

class InferencePortRoutes final : public HttpRoutes {
 public:
  /// \param host  outlives this object. \param page  called on a thread of the frontend for the summary, else on one of this
  /// object; between start() and stop()
  InferencePortRoutes(Host& host, MakePage page) : host_(host), page_(std::move(page)) {}
  virtual ~InferencePortRoutes() = default;

  /// Without it there are no routes. Errors: no thread to be had. [control]
  Status start();
  /// After the last request. [control]
  void stop();

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void answer(HttpExchange& exchange, const PageRequest& wanted, http::Encoding encoding) noexcept;

  Host& host_;
  const MakePage page_;
  SerialExecutorPtr slow_;  ///< makes whole pages; null: not started
};

}  // namespace atl::frontends::metrics
