/// A service registry that a test fills by hand.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/registry.h"

namespace atl::test {

/// Finds services as the server's registry does, and counts who holds them. [any]
class FakeRegistry final : public Registry {
 public:
  virtual ~FakeRegistry() = default;

  /// Publishes, or replaces what is published under the same interface and instance.
  template <class Interface>
  void publish(std::string instance, Interface& implementation, int32_t rank = 0, uint32_t minor = 0) {
    publish_raw(std::string(Interface::kInterfaceId), std::move(instance),
                static_cast<Interface*>(&implementation), rank, minor);
  }
  void publish_raw(std::string interface_id, std::string instance, void* implementation, int32_t rank = 0,
                   uint32_t minor = 0) {
    std::lock_guard lock(mutex_);
    services_[{std::move(interface_id), std::move(instance)}] = {implementation, rank, minor};
  }
  /// Look-ups no longer find it; those who hold it still do.
  void withdraw(std::string interface_id, std::string instance) {
    std::lock_guard lock(mutex_);
    services_.erase({std::move(interface_id), std::move(instance)});
  }

  Result<ServiceLease> acquire(std::string_view interface_id, std::string_view instance) noexcept override {
    std::lock_guard lock(mutex_);
    const Key* best = nullptr;
    bool tie = false;
    std::string existing;
    for (const auto& [key, service] : services_) {
      if (key.first != interface_id) continue;
      existing += existing.empty() ? key.second : ", " + key.second;
      if (!instance.empty() && key.second != instance) continue;
      if (best == nullptr || service.rank > services_[*best].rank) {
        best = &key;
        tie = false;
      } else if (service.rank == services_[*best].rank) {
        tie = true;
      }
    }
    if (best == nullptr) return nothing_found(interface_id, instance, existing);
    if (tie) {
      return make_status(Code::kFailedPrecondition, "several providers of ", interface_id,
                         " have the highest rank: ", existing);
    }
    uint64_t token = ++last_token_;
    leases_.emplace(token, *best);
    const Entry& service = services_[*best];
    return ServiceLease{service.implementation, token, service.minor};
  }
  void release(uint64_t token) noexcept override {
    std::lock_guard lock(mutex_);
    if (leases_.erase(token) == 0) ++wrong_releases_;
  }
  std::vector<ServiceInfo> list(std::string_view interface_id) const noexcept override {
    std::lock_guard lock(mutex_);
    std::vector<ServiceInfo> found;
    for (const auto& [key, service] : services_) {
      if (key.first == interface_id)
        found.push_back({key.first, key.second, "test/" + key.second, service.minor, service.rank});
    }
    return found;
  }

  /// Leases of one service that were not given back; of all with empty arguments.
  size_t holders(std::string_view interface_id = {}, std::string_view instance = {}) const {
    std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [token, key] : leases_) {
      count +=
          (interface_id.empty() || key.first == interface_id) && (instance.empty() || key.second == instance);
    }
    return count;
  }
  /// Releases of a token that was not given out or was released before.
  uint64_t wrong_releases() const {
    std::lock_guard lock(mutex_);
    return wrong_releases_;
  }

 private:
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    void* implementation = nullptr;
    int32_t rank = 0;
    uint32_t minor = 0;
  };
  static Status nothing_found(std::string_view interface_id, std::string_view instance,
                              const std::string& existing) {
    std::string there = existing.empty() ? "no instance provides it" : "found: " + existing;
    if (instance.empty()) return not_found("no provider of ", interface_id);
    return not_found("no provider of ", interface_id, " named '", instance, "'; ", there);
  }

  mutable std::mutex mutex_;
  std::map<Key, Entry> services_;
  std::map<uint64_t, Key> leases_;
  uint64_t last_token_ = 0;
  uint64_t wrong_releases_ = 0;
};

}  // namespace atl::test
