/// The events that the kernel and the model catalog publish. How to get them, with an example, is
/// in core/event_bus.h.
///
/// An event is plain data of fixed size, and each subscriber gets a copy: nothing in it is
/// borrowed. Texts that do not fit are cut and end in "...". Of a retained event the bus keeps the
/// last one of each key(), which a new subscriber gets first.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

/// The state of the server as a whole, published by the kernel. Retained under its one key,
/// "server".
struct ServerStateChanged {
  static constexpr std::string_view kEventId = "atoll.server_state/1";
  enum class State : uint32_t {
    /// Plugins are being brought up for the first time.
    kStarting = 0,
    /// Bring-up has ended. A reload does not leave this state: it publishes kActive again, with the
    /// next generation. So a subscriber also learns here that a manifest was applied.
    kActive = 1,
    /// The server was told to end. Nothing new is begun, and what was accepted is finished.
    kDraining = 2
  };
  State state = State::kStarting;
  /// The number of the manifest that is applied; it grows by one with every applied reload.
  uint64_t generation = 0;
  std::string_view key() const noexcept { return "server"; }
};

/// A plugin instance changed its lifecycle state; published by the kernel. Retained under the
/// instance's name while the instance is in the manifest.
///
/// During a reload two instances may have one name: the one that serves and its successor. Only one
/// of them owns the name. The events of the other are published under the key "NAME@GENERATION",
/// and are not retained.
struct PluginStateChanged {
  static constexpr std::string_view kEventId = "atoll.plugin_state/1";
  /// The states, in the order in which they follow each other. An instance that was not started
  /// goes from kCreated or kLoaded directly towards kUnloaded.
  enum class State : uint32_t {
    /// The instance stands in the manifest.
    kDeclared,
    /// Its plugin and the providers of its needs are known.
    kResolved,
    /// Its shared object is mapped.
    kLoaded,
    /// Its object is made, with its options.
    kCreated,
    /// start() has succeeded, and the services are published.
    kActive,
    /// Its services are withdrawn, and it waits for those who still use them.
    kDraining,
    /// stop() has returned.
    kStopped,
    /// Its object is gone. This is the last state where the file stays mapped: it is resident, or
    /// other instances of the plugin use it.
    kDestroyed,
    /// Its file is unmapped: the end of an instance.
    kUnloaded,
    /// It did not get as far as kActive; `reason` says why. This is an end, too.
    kFailed
  };
  /// The instance's name in the manifest: "grpc".
  FixedText<128> instance;
  /// "<role>/<name>": "frontends/grpc".
  FixedText<128> plugin;
  State state = State::kDeclared;
  /// The generation of the manifest that the instance was made for.
  uint64_t generation = 0;
  /// Of kFailed: the step that failed, and its message. Empty otherwise.
  FixedText<512> reason;
  std::string_view key() const noexcept { return instance.view(); }
};

/// A service was published, replaced by that of the next generation, or withdrawn; published by the
/// kernel. Holders of a withdrawn or replaced service let it go as soon as their work allows,
/// because its provider waits for them. Followed<Interface> (core/followed_service.h) does all of
/// this for one service. Retained under "<interface id> <instance>" while the service is published.
struct ServiceChanged {
  static constexpr std::string_view kEventId = "atoll.service/1";
  enum class Kind : uint32_t {
    /// There was no service under this key before.
    kPublished = 0,
    /// Registry::acquire() finds another implementation from now on: that of the successor of the
    /// same name.
    kReplaced = 1,
    /// Registry::acquire() finds none from now on.
    kWithdrawn = 2
  };
  /// "<interface id> <instance>"
  FixedText<256> key_text;
  /// "atoll.backend/1"
  FixedText<128> interface_id;
  /// The name of the instance that provides the service.
  FixedText<128> instance;
  Kind kind = Kind::kPublished;
  std::string_view key() const noexcept { return key_text.view(); }
};

/// A version of a model changed its state; published by the model catalog. Retained under
/// "<model>/<version>" until the catalog forgets the version.
struct ModelStateChanged {
  static constexpr std::string_view kEventId = "atoll.model_state/1";
  /// The states of Triton's repository index (RepositoryIndexResponse.ModelIndex.state).
  /// model_state_name() of models/model.h gives the names that clients see: "READY".
  enum class State : uint32_t {
    kUnknown = 0,
    kLoading = 1,
    /// Requests are accepted.
    kReady = 2,
    /// The version is out of service, but requests that were accepted are still executed.
    kUnloading = 3,
    /// The version was never loaded, or its memory is freed. The reason says which.
    kUnavailable = 4
  };
  /// "<model>/<version>"
  FixedText<288> key_text;
  FixedText<256> model;
  int64_t version = 0;
  State state = State::kUnknown;
  /// The reason as the repository index shows it to clients: "unloaded", or why a load failed.
  /// Empty while READY.
  FixedText<1024> reason;
  std::string_view key() const noexcept { return key_text.view(); }
};

}  // namespace atl
