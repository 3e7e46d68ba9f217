/// The event of reloads, published by the kernel. How to get it, with an example of a subscription,
/// is in core/event_bus.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"

namespace atl {

/// A reload of the manifest has begun or ended. This is news and no state, so the event is not
/// retained: what runs now is said by ServerStateChanged and PluginStateChanged (core/events.h).
///
/// Subscribe with Overflow::kDropOldest, because all of these events have one key. kBegun is
/// delivered before anything of the new generation is built. It may come again before an end does,
/// when the manifest was to be read once more meanwhile. A server that is told to end during a
/// reload publishes no end of the reload.
struct ReloadChanged {
  static constexpr std::string_view kEventId = "atoll.reload/1";
  enum class State : uint32_t {
    /// The manifest is about to be read.
    kBegun = 0,
    /// The new generation serves.
    kApplied = 1,
    /// Nothing has changed; `reason` says why.
    kRefused = 2
  };
  State state = State::kBegun;
  /// The generation that serves when the event is published.
  uint64_t generation = 0;
  /// Of kRefused, what was wrong. Empty otherwise.
  FixedText<512> reason;
  std::string_view key() const noexcept { return "server"; }
};

}  // namespace atl
