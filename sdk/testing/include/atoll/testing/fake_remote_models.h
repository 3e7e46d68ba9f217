/// Models on other servers, as a test says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/pools/remote_models.h"

namespace atl::test {

/// Each lease has one model, and belongs to nobody unless set_owner() says otherwise. [any]
class FakeRemoteModels final : public RemoteModels {
 public:
  FakeRemoteModels() = default;
  FakeRemoteModels(const FakeRemoteModels&) = delete;
  FakeRemoteModels& operator=(const FakeRemoteModels&) = delete;
  virtual ~FakeRemoteModels() = default;

  void set(const std::string& lease, const std::string& model, const RemoteServer& server) {
    std::lock_guard lock(mutex_);
    models_[lease] = {model, lease, {}, true, {}, server};
  }
  void set_not_ready(const std::string& lease, const std::string& model) {
    std::lock_guard lock(mutex_);
    models_[lease] = {model, lease, {}, false, cat("lease ", lease, " is DEPLOYING"), {}};
  }

  /// The lease is this owner's from now on.
  void set_owner(const std::string& lease, const std::string& owner) {
    std::lock_guard lock(mutex_);
    owners_[lease] = owner;
  }

  /// Connections to all servers are made by these rules from now on. Null: without TLS.
  void set_tls(std::shared_ptr<const RemoteTls> tls) {
    std::lock_guard lock(mutex_);
    tls_ = std::move(tls);
  }

  /// Called by find() and find_for(), on the thread that asks. Set it while nobody does.
  std::function<void()> on_find = [] {};

  Result<RemoteServer> find(std::string_view model, std::string_view lease) noexcept override {
    return find_for({}, model, lease);
  }
  std::vector<RemoteModel> list() noexcept override { return list_for({}); }
  Result<RemoteServer> find_for(std::string_view owner, std::string_view model,
                                std::string_view lease) noexcept override {
    on_find();
    std::lock_guard lock(mutex_);
    for (const auto& [id, found] : models_) {
      if (owner_of(id) != owner || found.name != model || (!lease.empty() && lease != id)) continue;
      if (!found.is_ready) return unavailable("model '", model, "' is not ready: ", found.reason);
      return found.server;
    }
    return not_found("no lease '", lease, "' with model '", model, "'");
  }
  std::vector<RemoteModel> list_for(std::string_view owner) noexcept override {
    std::lock_guard lock(mutex_);
    std::vector<RemoteModel> all;
    for (const auto& [id, model] : models_) {
      if (owner_of(id) == owner) all.push_back(model);
    }
    return all;
  }
  std::shared_ptr<const RemoteTls> tls_of(const HostPort&) noexcept override {
    std::lock_guard lock(mutex_);
    return tls_;
  }

 private:
  std::string_view owner_of(const std::string& lease) const {
    const auto found = owners_.find(lease);
    return found == owners_.end() ? std::string_view() : std::string_view(found->second);
  }

  std::mutex mutex_;
  std::map<std::string, std::string> owners_;
  std::map<std::string, RemoteModel, std::less<>> models_;
  std::shared_ptr<const RemoteTls> tls_;
};

}  // namespace atl::test
