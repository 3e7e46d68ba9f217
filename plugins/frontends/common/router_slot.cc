#include "common/router_slot.h"

#include <thread>

#include "common/model_version.h"

namespace atl::frontends {

Status RouterSlot::open() noexcept {
  renew();
  return services_changed_.open(host_.events(), {.depth = 4096});
}

void RouterSlot::close() noexcept {
  services_changed_.reset();
  seat({});
}

void RouterSlot::renew() noexcept {
  Result<Service<ModelRouter>> found = host_.registry().find<ModelRouter>();
  seat(found.ok() ? std::move(found).value() : Service<ModelRouter>());
}

void RouterSlot::seat(Service<ModelRouter> router) noexcept {
  Seat* old = current_.load(std::memory_order_relaxed);
  Seat* next = nullptr;
  if (router) {
    next = old == &seats_[0] ? &seats_[1] : &seats_[0];
    next->router = std::move(router);
    next->gate.open();
  }
  current_.store(next, std::memory_order_release);
  if (old == nullptr) return;
  old->gate.close();
  // Nobody blocks in there: they choose a version.
  while (old->gate.count() != 0) std::this_thread::yield();
  old->router.reset();
}

Result<int64_t> RouterSlot::version_of(std::string_view model, std::string_view text) const noexcept {
  Result<int64_t> version = parse_model_version(text);
  if (version.ok()) return version;
  if (std::optional<int64_t> named = labelled(model, text)) return *named;
  return version;
}

std::optional<int64_t> RouterSlot::labelled(std::string_view model, std::string_view label) const noexcept {
  std::optional<int64_t> version;
  use([&](ModelRouter& router) { version = router.labelled(model, label); });
  return version;
}

}  // namespace atl::frontends
