/// The service registry: which implementations of an interface there are, and who holds them. A
/// service is known by the interface's id and the name of the instance that provides it.
///
///     ATOLL_PLUGIN(Mine, {..., .needs = {need<ModelCatalog>()}});
///     ...
///     Result<Service<ModelCatalog>> catalog = host.registry().find<ModelCatalog>();  // in start()
///     if (!catalog.ok()) return std::move(catalog).status();
///     catalog_ = std::move(catalog).value();                                         // until stop()
///
/// A plugin looks a service up once (when it starts, or when a model loads) and keeps the
/// Service<T>; nothing is looked up per request. While a Service is held, its provider is neither
/// stopped nor unmapped. A provider that is to go is withdrawn first: look-ups no longer find it,
/// the event ServiceChanged asks its holders to let go, and the provider waits for them. For a
/// service that may come and go, use Followed (followed_service.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// What acquire() gives. find<T>() makes a typed Service<T> of it.
struct ServiceLease {
  /// A pointer to the interface's abstract class.
  void* implementation = nullptr;
  /// Names this holding. It is given back once, by Registry::release().
  uint64_t token = 0;
  /// The highest minor version of the interface that the provider implements.
  uint32_t minor = 0;
};

/// One published service, as list() describes it.
struct ServiceInfo {
  /// "atoll.backend/1"
  std::string interface_id;
  /// The name of the plugin instance that provides the service: "onnxruntime".
  std::string instance;
  /// The plugin of that instance: "backends/onnxruntime".
  std::string plugin;
  /// The highest minor version that is implemented.
  uint32_t minor = 0;
  /// Of several providers, the one of the highest rank is chosen when nobody names one.
  int32_t rank = 0;
};

class Registry;

/// A held service, used as a pointer. Move-only: each object is one holding. It must be let go
/// before the holder's stop() returns; a holding that is left is taken back then, with a warning in
/// the log. One object is not for two threads at a time; the interface says which threads may call
/// the service.
template <class Interface>
class Service {
 public:
  /// Holds nothing.
  Service() noexcept = default;
  /// For find(): takes over what acquire() gave.
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
  /// Whether a service is held.
  explicit operator bool() const noexcept { return lease_.implementation != nullptr; }
  /// The service, valid while it is held; null if none is.
  Interface* get() const noexcept { return static_cast<Interface*>(lease_.implementation); }
  Interface* operator->() const noexcept { return get(); }
  Interface& operator*() const noexcept { return *get(); }
  /// The highest minor version that the provider implements. Functions that came with a later minor
  /// must not be called.
  uint32_t minor() const noexcept { return lease_.minor; }
  /// Lets the service go. Its provider may be stopped and unmapped from here on.
  void reset() noexcept;

 private:
  Registry* registry_ = nullptr;
  ServiceLease lease_;
};

/// The registry as one plugin instance sees it, from Host::registry(). What an instance acquires is
/// recorded under its name, so that the log can say who keeps a provider from its end. While a
/// reload builds the next generation, its instances see the services of that generation. All
/// functions take the registry's one lock for a moment. [any]
class Registry {
 public:
  /// Holds a service. Plugins mostly call find() instead.
  /// \param interface_id  "atoll.backend/1", one of the plugin's needs
  /// \param instance  the provider's instance name; empty: the provider that the manifest's `needs`
  /// binds to this instance, else the only one, else the one with the highest rank
  /// Errors: NOT_FOUND if there is no such provider; the message names the interface, and the
  /// instance and those that exist if one was asked for. FAILED_PRECONDITION if the interface is
  /// not among the plugin's needs, or two providers have the same highest rank. UNAVAILABLE if the
  /// provider was withdrawn.
  virtual Result<ServiceLease> acquire(std::string_view interface_id, std::string_view instance) noexcept = 0;
  /// Gives back what acquire() gave. A token that is not held does nothing.
  virtual void release(uint64_t token) noexcept = 0;
  /// The published providers of an interface, ordered by instance name. Nothing is held: a provider
  /// may have gone when find() asks for it.
  virtual std::vector<ServiceInfo> list(std::string_view interface_id) const noexcept = 0;

  /// acquire() with the interface's own id, as a typed Service.
  template <class Interface>
  Result<Service<Interface>> find(std::string_view instance = {}) noexcept {
    Result<ServiceLease> lease = acquire(Interface::kInterfaceId, instance);
    if (!lease.ok()) return std::move(lease).status();
    return Service<Interface>(this, lease.value());
  }

 protected:
  ~Registry() = default;
};

/// Here, because it needs Registry to be complete.
template <class Interface>
void Service<Interface>::reset() noexcept {
  if (registry_ != nullptr && lease_.implementation != nullptr) registry_->release(lease_.token);
  registry_ = nullptr;
  lease_ = {};
}

}  // namespace atl
