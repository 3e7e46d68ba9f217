/// The events that the kernel and the model catalog publish; how to get them is in core/event_bus.h.
///
/// An event is plain data of fixed size, copied to each subscriber: nothing in it is borrowed, and texts that
/// do not fit are cut. Of a retained event the bus keeps the last one of each key(), which a new subscriber
/// gets first.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

/// The server as a whole. Retained; one key.
struct ServerStateChanged {
  static constexpr std::string_view kEventId = "atoll.server_state/1";
  enum class State : uint32_t {
    kStarting = 0,  ///< plugins are being brought up
    kActive = 1,    ///< bring-up has ended; a reload does not leave this state
    kDraining = 2   ///< the server was told to end: nothing new is begun
  };
  State state = State::kStarting;
  uint64_t generation = 0;  ///< of the manifest; grows with every applied reload
  std::string_view key() const noexcept { return "server"; }
};

/// A plugin instance changed its lifecycle state. Retained by instance name while the instance is in the
/// manifest.
struct PluginStateChanged {
  static constexpr std::string_view kEventId = "atoll.plugin_state/1";
  /// In this order; an instance that was not started goes from kCreated or kLoaded towards kUnloaded directly.
  enum class State : uint32_t {
    kDeclared,   ///< stands in the manifest
    kResolved,   ///< its plugin and the providers of its needs are known
    kLoaded,     ///< its shared object is mapped
    kCreated,    ///< its object is made, with its options
    kActive,     ///< start() has succeeded; its services are published
    kDraining,   ///< its services are withdrawn, and it waits for those who still use them
    kStopped,    ///< stop() has returned
    kDestroyed,  ///< its object is gone
    kUnloaded,   ///< the end of an instance
    kFailed      ///< did not get as far as kActive; the end, too
  };
  FixedText<128> instance;  ///< its name in the manifest
  FixedText<128> plugin;    ///< "<role>/<name>"
  State state = State::kDeclared;
  uint64_t generation = 0;  ///< of the manifest that it belongs to
  FixedText<512> reason;    ///< of a failure
  std::string_view key() const noexcept { return instance.view(); }
};

/// A service was published, replaced by the next generation's, or withdrawn. Holders of a withdrawn or
/// replaced service let it go as soon as their work allows. Retained by "<interface id> <instance>" while
/// published.
struct ServiceChanged {
  static constexpr std::string_view kEventId = "atoll.service/1";
  enum class Kind : uint32_t {
    kPublished = 0,  ///< there was none under this key
    kReplaced = 1,   ///< what an acquire() finds from now on is another provider's, or the same one's anew
    kWithdrawn = 2   ///< an acquire() finds none
  };
  FixedText<256> key_text;      ///< "<interface id> <instance>"
  FixedText<128> interface_id;  ///< "atoll.backend/1"
  FixedText<128> instance;      ///< the provider's
  Kind kind = Kind::kPublished;
  std::string_view key() const noexcept { return key_text.view(); }
};

/// A model version changed its state. Retained by "<model>/<version>" until the version is forgotten.
struct ModelStateChanged {
  static constexpr std::string_view kEventId = "atoll.model_state/1";
  /// The numbers and names (model_state_name()) of the Triton protocol.
  enum class State : uint32_t {
    kUnknown = 0,
    kLoading = 1,
    kReady = 2,       ///< requests are accepted
    kUnloading = 3,   ///< out of service, but requests that were accepted are still executed
    kUnavailable = 4  ///< never loaded, or freed; the reason says which
  };
  FixedText<288> key_text;  ///< "<model>/<version>"
  FixedText<256> model;
  int64_t version = 0;
  State state = State::kUnknown;
  FixedText<1024> reason;  ///< as the repository index shows it; empty while READY
  std::string_view key() const noexcept { return key_text.view(); }
};

}  // namespace atl
