/// Which server serves which leased model: for requests, which come on any thread, beside the executor that leases live on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/pools/remote_models.h"
#include "pools/leases/book/lease.h"
#include "pools/leases/servers/instance_tls.h"

namespace atl::pools {

/// Its lock is held for one look or one change, and nobody is called under it.
class LeaseRoutes final : public RemoteModels {
 public:
  /// \param tls  outlives this; null: calls go without TLS
  explicit LeaseRoutes(const InstanceTls* tls = nullptr) : tls_(tls) {}
  LeaseRoutes(const LeaseRoutes&) = delete;
  LeaseRoutes& operator=(const LeaseRoutes&) = delete;
  virtual ~LeaseRoutes() = default;

  /// What an earlier instance of this plugin has: served until the lease is seen to have lost that server. [any]
  void inherit(const LeaseRoutes& earlier);
  /// All that is there is known: what was inherited and is not is gone. [any]
  void settle();
  /// The lease is as it is now; one that ends is not there any more. [executor of the lease]
  /// \param order  of its creation
  void update(const Lease& lease, uint64_t order, const std::set<std::string, std::less<>>& names);
  void remove(std::string_view lease);

  // --- RemoteModels ---
  Result<RemoteServer> find(std::string_view model, std::string_view lease) noexcept override {
    return find_for({}, model, lease);
  }
  std::vector<RemoteModel> list() noexcept override { return list_for({}); }
  Result<RemoteServer> find_for(std::string_view owner, std::string_view model,
                                std::string_view lease) noexcept override;
  std::vector<RemoteModel> list_for(std::string_view owner) noexcept override;
  std::shared_ptr<const RemoteTls> tls_of(const HostPort& address) noexcept override {
    return tls_ == nullptr ? nullptr : tls_->of(address);
  }

 private:
  struct Route {
    uint64_t order = 0;
    std::set<std::string, std::less<>> names;
    std::vector<std::string> models;
    bool is_ready = false;
    bool is_inherited = false;  ///< its server is an earlier instance's word
    std::string state;          ///< of the lease
    std::string owner;          ///< likewise
    RemoteServer server;
  };
  using Routes = std::map<std::string, Route, std::less<>>;
  /// By what an owner finds its leases.
  struct Owned {
    std::map<std::string, std::string, std::less<>> names;
    std::map<std::string, std::set<std::pair<uint64_t, std::string>>, std::less<>> models;  ///< oldest first
  };

  void add(const std::string& lease, Route route);
  void erase(Routes::iterator route);
  Result<RemoteServer> find_of(std::string_view owner, std::string_view model, std::string_view lease) const;

  const InstanceTls* const tls_;
  mutable std::shared_mutex mutex_;  ///< guards what follows
  Routes routes_;                    ///< by lease
  std::map<std::string, Owned, std::less<>> owners_;
};

}  // namespace atl::pools
