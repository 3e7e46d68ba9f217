/// The service registry: interface id + instance name -> implementation, and who holds what.
///
/// A plugin resolves a service once (when it starts, or when a model loads) and keeps the Service<T>; nothing
/// is looked up per request. While a Service is held, its provider is neither stopped nor unmapped; a
/// provider that is to go is withdrawn first (new look-ups no longer find it, ServiceChanged tells the
/// holders) and waits for the holders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// What acquire() gives; made into a typed Service<T> by find<T>().
struct ServiceLease {
  void* implementation = nullptr;
  uint64_t token = 0;  ///< names this holding; given back once
  uint32_t minor = 0;  ///< highest minor the provider implements
};

/// One published service.
struct ServiceInfo {
  std::string interface_id;  ///< "atoll.backend/1"
  std::string instance;      ///< the providing plugin instance's name
  std::string plugin;        ///< "backends/identity"
  uint32_t minor = 0;
  int32_t rank = 0;
};

class Registry;

/// A held service: use it as a pointer. Move-only. Must be let go before the holder's stop() returns. [any]
template <class Interface>
class Service {
 public:
  Service() noexcept = default;
  Service(Registry* registry, ServiceLease lease) noexcept : registry_(registry), lease_(lease) {}
  Service(Service&& other) noexcept
      : registry_(std::exchange(other.registry_, nullptr)), lease_(std::exchange(other.lease_, {})) {}
  Service& operator=(Service&& other) noexcept {
    if (this != &other) {
      reset();
      registry_ = std::exchange(other.registry_, nullptr);
      lease_ = std::exchange(other.lease_, {});
    }
    return *this;
  }
  ~Service() { reset(); }
  explicit operator bool() const noexcept { return lease_.implementation != nullptr; }
  Interface* get() const noexcept { return static_cast<Interface*>(lease_.implementation); }
  Interface* operator->() const noexcept { return get(); }
  Interface& operator*() const noexcept { return *get(); }
  uint32_t minor() const noexcept { return lease_.minor; }
  void reset() noexcept;

 private:
  Registry* registry_ = nullptr;
  ServiceLease lease_;
};

/// The registry as one plugin instance sees it: what it acquires is recorded under its name. [any]
class Registry {
 public:
  /// \param interface_id  "atoll.backend/1"
  /// \param instance      the provider's instance name; empty: the one bound to this instance by the
  ///                      manifest's `needs`, else the only one, else the one with the highest rank.
  /// Errors: NOT_FOUND names the interface and, if given, the instance and those that exist;
  /// FAILED_PRECONDITION two providers of the same highest rank; UNAVAILABLE the provider is draining.
  virtual Result<ServiceLease> acquire(std::string_view interface_id, std::string_view instance) noexcept = 0;
  virtual void release(uint64_t token) noexcept = 0;
  /// The published providers of an interface, ordered by instance name.
  virtual std::vector<ServiceInfo> list(std::string_view interface_id) const noexcept = 0;

  /// acquire() by the interface's own id.
  template <class Interface>
  Result<Service<Interface>> find(std::string_view instance = {}) noexcept {
    Result<ServiceLease> lease = acquire(Interface::kInterfaceId, instance);
    if (!lease.ok()) return std::move(lease).status();
    return Service<Interface>(this, lease.value());
  }

 protected:
  ~Registry() = default;
};

template <class Interface>
void Service<Interface>::reset() noexcept {
  if (registry_ != nullptr && lease_.implementation != nullptr) registry_->release(lease_.token);
  registry_ = nullptr;
  lease_ = {};
}

}  // namespace atl
