/// The pools' calls over gRPC: pools.v1.PoolService and LeaseService.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/grpc_calls.h"
#include "pools/leases/api/messages.h"
#include "pools/leases/book/lease_waits.h"
#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

/// Each call is handed to the manager's executor and answered there.
class GrpcPoolCalls final : public GrpcCalls {
 public:
  /// \param manager  on the executor of `with`; both outlive this
  GrpcPoolCalls(PoolManager& manager, const PoolContext& with)
      : manager_(manager), with_(with), waits_(manager.leases(), with.executor) {}
  GrpcPoolCalls(const GrpcPoolCalls&) = delete;
  GrpcPoolCalls& operator=(const GrpcPoolCalls&) = delete;
  virtual ~GrpcPoolCalls() = default;

  /// Those who wait are answered that the server ends; what they have asked for goes on. [the executor]
  void drain() { waits_.drain(); }

  static std::vector<GrpcMethod> all_methods();
  // --- GrpcCalls ---
  std::vector<GrpcMethod> methods() const noexcept override { return all_methods(); }
  void handle(std::string_view method, GrpcExchange& exchange) noexcept override;

 private:
  struct Method;
  class Waiting;
  static const std::vector<Method>& table();

  /// Hands the message of a call to one of the functions that follow. A message that is none ends the call.
  template <class Message, auto call>
  void serve(GrpcExchange& exchange);
  void create_pool(GrpcExchange& exchange, const v1::PoolDefinition& request);
  void list_pools(GrpcExchange& exchange);
  void pool_status(GrpcExchange& exchange, const v1::PoolStatusRequest& request);
  void update_pool(GrpcExchange& exchange, const v1::UpdatePoolRequest& request);
  void delete_pool(GrpcExchange& exchange, const v1::DeletePoolRequest& request);
  void acquire(GrpcExchange& exchange, const v1::LeaseDefinition& request);
  void plan(GrpcExchange& exchange, const v1::LeaseDefinition& request);
  void renew(GrpcExchange& exchange, const v1::RenewRequest& request);
  void release(GrpcExchange& exchange, const v1::LeaseRequest& request);
  void lease_status(GrpcExchange& exchange, const v1::LeaseRequest& request);
  void list_leases(GrpcExchange& exchange, const v1::ListLeasesRequest& request);
  void set_name(GrpcExchange& exchange, const v1::LeaseName& request);
  void delete_name(GrpcExchange& exchange, const v1::DeleteNameRequest& request);
  void list_names(GrpcExchange& exchange);
  void answer_pool(GrpcExchange& exchange, std::string_view name);
  /// The caller's lease with this id or name; null: there is none, and the exchange is ended.
  const Lease* find_lease(GrpcExchange& exchange, std::string_view id_or_name);
  void answer_lease(GrpcExchange& exchange, const Lease& lease);

  PoolManager& manager_;
  const PoolContext& with_;
  LeaseWaits waits_;
};

}  // namespace atl::pools
