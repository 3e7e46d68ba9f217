/// The events that the kernel and the model catalog publish.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/text.h"

namespace atl {

/// The server as a whole. Retained; one key.
struct ServerStateChanged {
  static constexpr std::string_view kEventId = "atoll.server_state/1";
  enum class State : uint32_t { kStarting = 0, kActive = 1, kDraining = 2 };
  State state = State::kStarting;
  uint64_t generation = 0;  ///< of the manifest; grows with every applied reload
  std::string_view key() const noexcept { return "server"; }
};

/// A plugin instance changed its lifecycle state. Retained by instance name while the instance is in the
/// manifest.
struct PluginStateChanged {
  static constexpr std::string_view kEventId = "atoll.plugin_state/1";
  enum class State : uint32_t {
    kDeclared,
    kResolved,
    kLoaded,
    kCreated,
    kActive,
    kDraining,
    kStopped,
    kDestroyed,
    kUnloaded,
    kFailed
  };
  FixedText<128> instance;
  FixedText<128> plugin;
  State state = State::kDeclared;
  uint64_t generation = 0;
  FixedText<512> reason;  ///< of a failure
  std::string_view key() const noexcept { return instance.view(); }
};

/// A service was published, replaced by the next generation's, or withdrawn. Holders of a withdrawn or
/// replaced service let it go as soon as their work allows. Retained by "<interface id> <instance>" while
/// published.
struct ServiceChanged {
  static constexpr std::string_view kEventId = "atoll.service/1";
  enum class Kind : uint32_t { kPublished = 0, kReplaced = 1, kWithdrawn = 2 };
  FixedText<256> key_text;  ///< "<interface id> <instance>"
  FixedText<128> interface_id;
  FixedText<128> instance;
  Kind kind = Kind::kPublished;
  std::string_view key() const noexcept { return key_text.view(); }
};

/// A model version changed its state. Retained by "<model>/<version>" until the version is forgotten.
struct ModelStateChanged {
  static constexpr std::string_view kEventId = "atoll.model_state/1";
  enum class State : uint32_t { kUnknown = 0, kLoading = 1, kReady = 2, kUnloading = 3, kUnavailable = 4 };
  FixedText<288> key_text;
  FixedText<256> model;
  int64_t version = 0;
  State state = State::kUnknown;
  FixedText<1024> reason;
  std::string_view key() const noexcept { return key_text.view(); }
};

}  // namespace atl
