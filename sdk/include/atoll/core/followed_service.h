/// A service that may come, be replaced and go while requests use it. A plugin holds each of its
/// OPTIONAL needs (services.h) so:
///
///     Followed<Tracing> tracing_{host_};
///     Status start() override { return tracing_.open(); }  // whether there is a provider or not
///     void stop() override { tracing_.close(); }
///     ...
///     if (auto tracing = tracing_.hold()) trace = tracing->start(request);  // on any thread
///
/// A reload that replaces the provider publishes ServiceChanged; this class then takes the new one.
/// The provider before is let go when the last Hold on it has ended, so it is stopped after the
/// requests that use it and not before. No request waits for the change.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"

namespace atl {

/// Follows one interface. Interface is the abstract class of the service; it has `kInterfaceId`.
/// What a hold costs is said at Replaceable. The object must stay at its address between open() and
/// close(), because the event bus and the holds point to it.
template <class Interface>
class Followed {
  using Seats = Replaceable<Service<Interface>>;

 public:
  /// One use, as short as a call or as long as a request. While it lives, its provider is neither
  /// stopped nor unmapped. It may end on another thread than it began. Every Hold has to end before
  /// the plugin's stop() is called, so a use that is longer than a call belongs to something that
  /// holds a Pass of the host's gate.
  class Hold {
   public:
    /// Holds nothing.
    Hold() noexcept = default;
    /// False: there was no provider when the hold began. Then the other functions, except get() and
    /// reset(), must not be called.
    explicit operator bool() const noexcept { return static_cast<bool>(hold_); }
    /// The service, valid while this object lives; null if there is none.
    Interface* get() const noexcept { return hold_ ? hold_->get() : nullptr; }
    Interface* operator->() const noexcept { return hold_->get(); }
    Interface& operator*() const noexcept { return *hold_->get(); }
    /// The highest minor version of the interface that the provider implements. Functions that came
    /// with a later minor must not be called.
    uint32_t minor() const noexcept { return hold_->minor(); }
    /// True once the provider has gone or was replaced. Whoever keeps a hold between its uses, such
    /// as a mapping of memory, ends the hold then: the old provider waits for it.
    bool is_outdated() const noexcept { return hold_.is_outdated(); }
    /// Ends the use before the object ends.
    void reset() noexcept { hold_.reset(); }

   private:
    friend class Followed;
    explicit Hold(typename Seats::Hold hold) noexcept : hold_(std::move(hold)) {}
    typename Seats::Hold hold_;
  };

  /// Chooses the provider, as the default does by Registry::find(). It runs on the control thread
  /// at open() and after each change of the interface's services. An error says that there is none;
  /// codes other than NOT_FOUND and UNAVAILABLE are logged as a warning, too.
  using Find = std::function<Result<Service<Interface>>()>;

  /// \param host  outlives this object
  /// \param find  null: the provider that the manifest binds to this instance, else the only one,
  /// else the one of the highest rank
  /// \param changed  called on the control thread after each change, the one in open() included,
  /// when hold() gives the new provider already; may be null
  explicit Followed(Host& host, Find find = {}, std::function<void()> changed = {})
      : host_(host), find_(std::move(find)), changed_(std::move(changed)) {}
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  ~Followed() { close(); }

  /// Takes the provider that is there, if any, and follows its changes from now on. In the plugin's
  /// start(). [control]
  /// Errors: as EventBus::subscribe_raw(). That there is no provider is no error.
  Status open() noexcept {
    renew();
    return services_changed_.open(host_.events(), {.depth = 4096});
  }
  /// Stops following, and lets the provider go; there is none from here on. Returns when every Hold
  /// has ended, and waits for that without sleeping. In the plugin's stop(). [control]
  void close() noexcept {
    services_changed_.reset();
    services_.close();
  }

  /// Whether there is a provider now. It costs the load of a pointer; hold() may give another
  /// answer right afterwards. [any]
  bool is_present() const noexcept { return services_.has_value(); }
  /// How many holds there are, on the present provider and on those before it. For tests and for
  /// holding(). [control]
  int64_t holds() const noexcept { return services_.holds(); }
  /// Begins a use of the provider that there is now. Neither waits nor allocates. [request]
  Hold hold() const noexcept { return Hold(services_.hold()); }

 private:
  /// Hears of every change of services, and looks again where the change is one of this interface.
  struct OnService {
    Followed& followed;
    void operator()(const ServiceChanged& event) const noexcept {
      if (event.interface_id.view() == Interface::kInterfaceId) followed.renew();
    }
  };

  /// Asks find_ for the provider, and replaces the one that is held if they are not the same
  /// object. [control]
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
