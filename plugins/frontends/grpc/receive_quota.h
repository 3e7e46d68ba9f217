/// A bound on what gRPC itself holds.
#pragma once

#include <grpcpp/resource_quota.h>

#include <cstddef>
#include <limits>

#include "atoll/core/followed_service.h"
#include "atoll/memory/request_memory.h"

namespace atl::frontends::grpc_frontend {

/// gRPC shows a message when all of it has come; what clients send slowly is with gRPC till then and is
/// counted by its own quota, which ends calls with RESOURCE_EXHAUSTED when it is used up. Messages that this
/// frontend counts as memory of requests are within the quota as well, so it is larger than their limit: as
/// long as only they fill it, new ones are refused and no call is ended. Follows the limit. [control]
class ReceiveQuota {
 public:
  explicit ReceiveQuota(Host& host) : service_(host, {}, [this] { resize(); }) {}

  /// Errors: as Followed::open().
  Status open() noexcept { return service_.open(); }
  const grpc::ResourceQuota& get() const noexcept { return quota_; }

  /// \param limit_bytes  of the memory of requests; 0: none
  static size_t size_for(uint64_t limit_bytes) noexcept {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    if (limit_bytes == 0 || limit_bytes > kMost / 2) return kMost;
    return limit_bytes + limit_bytes / 2 + kOwnBytes;
  }

 private:
  /// For what gRPC takes beside messages.
  static constexpr uint64_t kOwnBytes = uint64_t{32} << 20;

  void resize() {
    const auto service = service_.hold();
    quota_.Resize(size_for(service ? service->budget()->limit_bytes() : 0));
  }

  grpc::ResourceQuota quota_{"atoll"};
  Followed<RequestMemory> service_;
};

}  // namespace atl::frontends::grpc_frontend
