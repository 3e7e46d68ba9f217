/// The model router as frontends use it: there or not, and replaced while requests ask it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "atoll/events.h"
#include "atoll/gate.h"
#include "atoll/host.h"
#include "atoll/model.h"
#include "atoll/model_router.h"

namespace atl::frontends {

/// Without a router a request costs the load of a pointer.
class RouterSlot {
 public:
  explicit RouterSlot(Host& host) noexcept : host_(host) {}
  RouterSlot(const RouterSlot&) = delete;
  RouterSlot& operator=(const RouterSlot&) = delete;
  ~RouterSlot() { close(); }

  /// Takes the router that is there and follows its changes. [control]
  Status open() noexcept;
  /// [control]
  void close() noexcept;

  /// The version that a label of the model stands for. [any]
  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept;
  /// The version as parse_model_version() reads it, or that of the model's label of this name. [any]
  /// Errors: those of parse_model_version().
  Result<int64_t> version_of(std::string_view model, std::string_view text) const noexcept;
  /// The version that answers a request. [request] Errors: as ModelCatalog::acquire().
  Result<ModelRef> route(ModelCatalog& catalog, std::string_view model, int64_t version) const noexcept {
    std::optional<Result<ModelRef>> routed;
    use([&](ModelRouter& router) { routed.emplace(router.route(model, version)); });
    return routed ? std::move(*routed) : catalog.acquire(model, version);
  }

 private:
  /// A router that is not replaced while somebody is inside its gate.
  struct Seat {
    Service<ModelRouter> router;
    Gate gate;
  };
  struct OnService {
    RouterSlot& slot;
    void operator()(const ServiceChanged& event) const noexcept {
      if (event.interface_id.view() == ModelRouter::kInterfaceId) slot.renew();
    }
  };

  template <class Use>
  void use(Use&& use) const noexcept {
    // A gate that has closed since it was read here belongs to a seat that is no longer the current one.
    while (Seat* seat = current_.load(std::memory_order_acquire)) {
      if (Pass pass(seat->gate); pass) {
        use(*seat->router);
        return;
      }
    }
  }
  void renew() noexcept;
  void seat(Service<ModelRouter> router) noexcept;

  Host& host_;
  Seat seats_[2];
  std::atomic<Seat*> current_{nullptr};
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
};

}  // namespace atl::frontends
