/// The pools' calls over gRPC: pools.v1.PoolService and LeaseService.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/grpc_calls.h"
#include "pools/leases/book/lease_waits.h"
#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

/// Each call is handed to the manager's executor and answered there.
class GrpcPoolCalls final : public GrpcCalls {
 public:
  /// \param manager  on the executor of `with`; both outlive this
  GrpcPoolCalls(PoolManager& manager, const PoolContext& with)
      : manager_(manager), with_(with), waits_(manager, with.executor) {}
  GrpcPoolCalls(const GrpcPoolCalls&) = delete;
  GrpcPoolCalls& operator=(const GrpcPoolCalls&) = delete;
  virtual ~GrpcPoolCalls() = default;

  /// Those who wait are told that the server ends; what they have asked for goes on. [the executor]
  void drain();

  static std::vector<GrpcMethod> all_methods();
  // --- GrpcCalls ---
  std::vector<GrpcMethod> methods() const noexcept override { return all_methods(); }
  void handle(std::string_view method, GrpcExchange& exchange) noexcept override;

 private:
  struct Method;
  class Waiting;
  static const std::vector<Method>& table();

  void create_pool(GrpcExchange& exchange);
  void list_pools(GrpcExchange& exchange);
  void pool_status(GrpcExchange& exchange);
  void update_pool(GrpcExchange& exchange);
  void delete_pool(GrpcExchange& exchange);
  void acquire(GrpcExchange& exchange);
  void plan(GrpcExchange& exchange);
  void renew(GrpcExchange& exchange);
  void release(GrpcExchange& exchange);
  void lease_status(GrpcExchange& exchange);
  void list_leases(GrpcExchange& exchange);
  void set_name(GrpcExchange& exchange);
  void delete_name(GrpcExchange& exchange);
  void list_names(GrpcExchange& exchange);
  void answer_pool(GrpcExchange& exchange, std::string_view name);
  void answer_lease(GrpcExchange& exchange, const std::string& id);

  PoolManager& manager_;
  const PoolContext& with_;
  bool drains_ = false;
  LeaseWaits waits_;
};

}  // namespace atl::pools
