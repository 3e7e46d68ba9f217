/// What the timeline consists of. Its entries are retained events, so that the event bus keeps them while one instance of
/// the console takes the place of another.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::console {

/// What has happened. kind_name() gives the names that clients see.
enum class TimelineKind : uint32_t {
  kServerActive,    ///< the bring-up has ended
  kServerDraining,  ///< the server was told to end
  kReloadApplied,   ///< a new generation of the manifest serves
  kReloadRefused,   ///< nothing has changed; `reason` says why
  kPluginActive,    ///< an instance serves
  kPluginFailed,    ///< an instance did not get as far; `reason` says why
  kPluginStopped,   ///< an instance has ended
  kModelReady,      ///< a version was loaded
  kModelReplaced,   ///< a version was loaded again and has taken its own place
  kModelUnloaded,   ///< a version was taken out of service
  kModelFailed,     ///< a load has failed; `reason` says why
  kCallEnded,       ///< somebody has told the server to change something
  kCallFailed,      ///< somebody has told the server to change something, and it was not done
};

/// "model.ready". [any]
constexpr std::string_view kind_name(TimelineKind kind) noexcept {
  constexpr std::string_view kNames[] = {
      "server.active", "server.draining", "reload.applied", "reload.refused", "plugin.active",
      "plugin.failed", "plugin.stopped",  "model.ready",    "model.replaced", "model.unloaded",
      "model.failed",  "call.ended",      "call.failed"};
  return kNames[static_cast<size_t>(kind)];
}

constexpr bool is_failure(TimelineKind kind) noexcept {
  return kind == TimelineKind::kReloadRefused || kind == TimelineKind::kPluginFailed ||
         kind == TimelineKind::kModelFailed;
}

constexpr bool is_call(TimelineKind kind) noexcept {
  return kind == TimelineKind::kCallEnded || kind == TimelineKind::kCallFailed;
}

/// One thing that has happened. Texts that do not fit are cut.
struct TimelineEntry {
  static constexpr std::string_view kEventId = "atoll.console_timeline_entry/1";
  static constexpr int64_t kUnknown = -1;

  FixedText<160> key_text;  ///< "<instance> <slot>"
  uint32_t slot = 0;        ///< its place in the ring
  TimelineKind kind = TimelineKind::kServerActive;
  uint64_t number = 0;         ///< of the entries of an instance, ascending by one from 1 on
  int64_t time_ms = 0;         ///< when the console heard of it, in milliseconds since 1970
  int64_t took_ms = kUnknown;  ///< of a load
  int64_t version = kUnknown;  ///< of a model; kUnknown where the whole model is meant
  uint64_t generation = 0;     ///< of the manifest; 0: it is about a model
  FixedText<256> subject;      ///< a model, or an instance of a plugin; may be empty of a call
  FixedText<128> plugin;       ///< of an instance: "frontends/grpc"
  FixedText<512> reason;
  // Of a call, as of ControlCallEnded:
  FixedText<256> call;
  FixedText<128> caller;
  FixedText<64> peer;
  int32_t status = 0;
  std::string_view key() const noexcept { return key_text.view(); }
};
static_assert(sizeof(TimelineEntry) <= 4096, "the event bus takes no larger events");

/// An instance has been given the present states, and all that it hears from then on is new. Not retained.
struct TimelineBegun {
  static constexpr std::string_view kEventId = "atoll.console_timeline_begun/1";
  FixedText<128> instance;
  std::string_view key() const noexcept { return instance.view(); }
};

}  // namespace atl::frontends::console
