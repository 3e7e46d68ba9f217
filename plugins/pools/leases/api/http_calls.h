/// The pools' calls over HTTP: /v2/pools, /v2/leases and /v2/lease_names.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/http_routes.h"
#include "pools/leases/book/lease_waits.h"
#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

/// The status of an answer to a refused call.
int http_status(const Status& refusal) noexcept;

/// Each call is handed to the manager's executor and answered there; who waits for a lease is answered when it is
/// ACTIVE or over, and one that asks for `text/event-stream` gets each change of it.
class HttpCalls final : public HttpRoutes {
 public:
  /// \param manager  on the executor of `with`; both outlive this
  HttpCalls(PoolManager& manager, const PoolContext& with)
      : manager_(manager), with_(with), waits_(manager.leases(), with.executor) {}
  HttpCalls(const HttpCalls&) = delete;
  HttpCalls& operator=(const HttpCalls&) = delete;
  virtual ~HttpCalls() = default;

  /// Those who wait are answered that the server ends; what they have asked for goes on. [the executor]
  void drain() { waits_.drain(); }

  static std::vector<HttpRoute> all_routes();
  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override { return all_routes(); }
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  struct Call;
  class Waiting;

  void serve(const std::shared_ptr<Call>& call);
  void serve_pools(Call& call);
  void serve_pool(Call& call, const std::string& name);
  void serve_leases(const std::shared_ptr<Call>& call);
  void serve_lease(Call& call, const std::string& id);
  void serve_name(Call& call, const std::string& name);
  void plan(const Call& call, const LeaseDefinition& lease);
  void acquire(Call& call, const LeaseDefinition& lease);
  void answer_pool(Call& call, std::string_view name);
  void wait_for(Call& call, const std::string& lease, bool for_its_end);

  PoolManager& manager_;
  const PoolContext& with_;
  LeaseWaits waits_;
};

}  // namespace atl::pools
