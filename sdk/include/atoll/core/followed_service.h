/// A service that comes, is replaced and goes while requests use it: what a plugin makes of an OPTIONAL need.
///
///     Followed<Tracing> tracing_{host_};
///     Status start() noexcept override { return tracing_.open(); }  // whether it is there or not
///     void stop() noexcept override { tracing_.close(); }
///     ... if (auto tracing = tracing_.hold()) trace = tracing->start(request);  // any thread
///
/// An old provider is let go when its last Hold has ended, so it is stopped after the requests that use it
/// and not before, and no request waits for a change.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"

namespace atl {

/// What a hold costs, and how long it may be, is said of Replaceable. The address must stay the same between
/// open() and close().
template <class Interface>
class Followed {
  using Seats = Replaceable<Service<Interface>>;

 public:
  /// One use, as short as a call or as long as a request: while it lives its provider is not stopped. Moves
  /// between threads. Has to end before the plugin's stop() is called, so what is longer than a call is part
  /// of something that holds a pass of the host's gate.
  class Hold {
   public:
    Hold() noexcept = default;
    /// False: there is no provider.
    explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
    Interface* get() const noexcept { return hold_ ? hold_->get() : nullptr; }
    Interface* operator->() const noexcept { return hold_->get(); }
    Interface& operator*() const noexcept { return *hold_->get(); }
    /// The highest minor version that the provider implements; only if there is one.
    uint32_t minor() const noexcept { return hold_->minor(); }
    /// The provider has gone or was replaced since: whoever keeps a hold between its uses ends it now.
    bool is_outdated() const noexcept { return hold_.is_outdated(); }
    void reset() noexcept { hold_.reset(); }

   private:
    friend class Followed;
    explicit Hold(typename Seats::Hold hold) noexcept : hold_(std::move(hold)) {}
    typename Seats::Hold hold_;
  };

  /// Chooses the provider. An error says that there is none; other than NOT_FOUND and UNAVAILABLE it is
  /// logged.
  using Find = std::function<Result<Service<Interface>>()>;

  /// \param find     null: the provider that is bound to this instance, else the one of the highest rank
  /// \param changed  called after each change, on the control thread; may be null
  explicit Followed(Host& host, Find find = {}, std::function<void()> changed = {})
      : host_(host), find_(std::move(find)), changed_(std::move(changed)) {}
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  ~Followed() { close(); }

  /// Takes the provider that is there and follows its changes. [control] Errors: as EventBus::subscribe().
  Status open() noexcept {
    renew();
    return services_changed_.open(host_.events(), {.depth = 4096});
  }
  /// Follows no more; there is no provider from here on. Returns when every Hold has ended. [control]
  void close() noexcept {
    services_changed_.reset();
    services_.close();
  }

  /// [any]
  bool is_present() const noexcept { return services_.has_value(); }
  /// Holds there are, on providers past and present. [control]
  int64_t holds() const noexcept { return services_.holds(); }
  /// [request]
  Hold hold() const noexcept { return Hold(services_.hold()); }

 private:
  struct OnService {
    Followed& followed;
    void operator()(const ServiceChanged& event) const noexcept {
      if (event.interface_id.view() == Interface::kInterfaceId) followed.renew();
    }
  };

  void renew() noexcept {
    Result<Service<Interface>> found = find_ ? find_() : host_.registry().find<Interface>();
    const Code code = found.status().code();
    if (!found.ok() && code != Code::kNotFound && code != Code::kUnavailable) {
      host_.log().warning(Interface::kInterfaceId, " is not used: ", found.status().message());
    }
    const Service<Interface>* held = services_.value();
    const Interface* used = held == nullptr ? nullptr : held->get();
    if (found.ok() ? found.value().get() == used : used == nullptr) return;
    services_.replace(found.ok() ? std::optional(std::move(found).value()) : std::nullopt);
    if (changed_) changed_();
  }

  Host& host_;
  const Find find_;
  const std::function<void()> changed_;
  Seats services_;
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
};

}  // namespace atl
