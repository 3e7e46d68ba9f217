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

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/events.h"
#include "atoll/gate.h"
#include "atoll/host.h"

namespace atl {

/// Without a provider a request costs the load of a pointer; with one, two additions to a counter that
/// threads do not share. The address must stay the same between open() and close().
template <class Interface>
class Followed {
  struct Seat;

 public:
  /// One use, as short as a call or as long as a request: while it lives its provider is not stopped. Moves
  /// between threads. Has to end before the plugin's stop() is called, so what is longer than a call is part
  /// of something that holds a pass of the host's gate.
  class Hold {
   public:
    Hold() noexcept = default;
    Hold(Hold&& other) noexcept : seat_(std::exchange(other.seat_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        reset();
        seat_ = std::exchange(other.seat_, nullptr);
      }
      return *this;
    }
    ~Hold() { reset(); }
    /// False: there is no provider.
    explicit operator bool() const noexcept { return seat_ != nullptr; }
    Interface* get() const noexcept { return seat_ == nullptr ? nullptr : seat_->service.get(); }
    Interface* operator->() const noexcept { return seat_->service.get(); }
    Interface& operator*() const noexcept { return *seat_->service; }
    /// The provider has gone or was replaced since: whoever keeps a hold between its uses ends it now.
    bool is_outdated() const noexcept { return seat_ != nullptr && seat_->gate.closed(); }
    void reset() noexcept {
      if (Seat* seat = std::exchange(seat_, nullptr)) seat->gate.leave();
    }

   private:
    friend class Followed;
    explicit Hold(Seat* seat) noexcept : seat_(seat) {}
    Seat* seat_ = nullptr;
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
    seat({});
    for (const auto& seat : seats_) {
      while (seat->state.load() != State::kFree) std::this_thread::yield();
    }
  }

  /// [any]
  bool is_present() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }
  /// [request]
  Hold hold() const noexcept {
    // A gate that has closed since it was read belongs to a seat that is the current one no more; one that
    // was opened again, to a newer provider, which is as good.
    while (Seat* seat = current_.load(std::memory_order_acquire)) {
      if (seat->gate.enter()) return Hold(seat);
    }
    return {};
  }

 private:
  enum class State : uint32_t { kFree, kOpen, kDraining, kReleasing };
  struct Seat {
    Gate gate{&Followed::on_empty, this};
    Service<Interface> service;
    std::atomic<State> state{State::kFree};
  };
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
    Seat* old = current_.load(std::memory_order_relaxed);
    const Interface* used = old == nullptr ? nullptr : old->service.get();
    if (found.ok() ? found.value().get() == used : used == nullptr) return;
    seat(found.ok() ? std::move(found).value() : Service<Interface>());
    if (changed_) changed_();
  }

  void seat(Service<Interface> service) noexcept {
    Seat* old = current_.load(std::memory_order_relaxed);
    Seat* next = nullptr;
    if (service) {
      next = &free_seat();
      next->service = std::move(service);
      next->state.store(State::kOpen);
      next->gate.open();
    }
    current_.store(next, std::memory_order_release);
    if (old == nullptr) return;
    old->state.store(State::kDraining);
    old->gate.close();
  }

  Seat& free_seat() {
    for (const auto& seat : seats_) {
      if (seat->state.load() == State::kFree) return *seat;
    }
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->gate.close();
    return *seats_.back();
  }

  static void on_empty(void* context) {
    auto& seat = *static_cast<Seat*>(context);
    // Of a seat that is in its next use already there may still be calls that belong to the one before.
    if (seat.state.load() != State::kDraining || !seat.gate.closed() || seat.gate.count() != 0) return;
    State expected = State::kDraining;
    if (!seat.state.compare_exchange_strong(expected, State::kReleasing)) return;
    seat.service.reset();
    seat.state.store(State::kFree);
  }

  Host& host_;
  const Find find_;
  const std::function<void()> changed_;
  std::vector<std::unique_ptr<Seat>> seats_;  ///< as many as providers were held at a time
  std::atomic<Seat*> current_{nullptr};
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
};

}  // namespace atl
