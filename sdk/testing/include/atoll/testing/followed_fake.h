/// A service for code that follows one.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/followed_service.h"
#include "atoll/testing/fake_host.h"

namespace atl::test {

/// Publishes to the subscribers of the host that a provider came, was replaced or went.
inline void publish_service_changed(FakeHost& host, std::string_view interface_id,
                                    std::string_view instance) {
  ServiceChanged event;
  const std::string key = cat(interface_id, " ", instance);
  event.key_text = std::string_view(key);
  event.interface_id = interface_id;
  event.instance = instance;
  host.events().publish(event, false);
  host.events().deliver();
}

/// Follows a registry of its own. What it was given is not owned.
template <class Interface>
class FollowedFake {
 public:
  /// \param implementation  null: nobody provides it
  explicit FollowedFake(Interface* implementation = nullptr) {
    if (implementation != nullptr) host_.registry().publish<Interface>(kInstance, *implementation);
    (void)service_.open().ok();
  }
  const Followed<Interface>& get() const noexcept { return service_; }
  /// As a reload does it; null: it goes.
  void put(Interface* implementation) {
    if (implementation != nullptr) {
      host_.registry().publish<Interface>(kInstance, *implementation);
    } else {
      host_.registry().withdraw(std::string(Interface::kInterfaceId), kInstance);
    }
    publish_service_changed(host_, Interface::kInterfaceId, kInstance);
  }
  /// Holders of providers past and present.
  size_t holders() { return host_.registry().holders(); }

 private:
  static constexpr const char* kInstance = "provider";
  FakeHost host_{"follower"};
  Followed<Interface> service_{host_};
};

}  // namespace atl::test
