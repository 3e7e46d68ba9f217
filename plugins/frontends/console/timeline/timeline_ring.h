/// The last things that have happened.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/host.h"
#include "frontends/console/timeline/timeline_events.h"

namespace atl::frontends::console {

using TimelineEntries = std::vector<std::shared_ptr<const TimelineEntry>>;

/// Keeps entries, 0.9 MB at most, and publishes what is added: an instance that takes this one's place in the manifest,
/// under the same name, finds them on the event bus. Failures are kept apart, so that no number of successes pushes them
/// out. [any]
class TimelineRing {
 public:
  static constexpr uint32_t kFailures = 128;
  static constexpr uint32_t kEntries = 512;  ///< failures included

  /// \param host  outlives this object
  explicit TimelineRing(Host& host) : host_(host) {}

  /// Takes over what an instance before has left, soon. Errors: as Subscription::open(). [control]
  Status open();
  /// [control]
  void close() noexcept { news_.reset(); }

  /// Keeps an entry and publishes it. Its key, slot, number and, if it is 0, its time are set here.
  void add(TimelineEntry entry);
  /// Newest first.
  TimelineEntries view() const;
  /// The newest entry of which `is_wanted` is true; null: there is none. `is_wanted` does not use the ring.
  std::shared_ptr<const TimelineEntry> newest(
      const std::function<bool(const TimelineEntry&)>& is_wanted) const;

 private:
  struct Keep {
    TimelineRing& ring;
    void operator()(const TimelineEntry& entry) const { ring.keep(entry); }
  };
  /// Some of the slots, which are filled one after the other, again and again.
  struct Part {
    uint32_t first, size;
    uint32_t next = 0;    ///< counted from the first one
    uint64_t newest = 0;  ///< number of the last entry
  };
  void keep(const TimelineEntry& entry);
  /// Under the mutex.
  void place(const TimelineEntry& entry);

  Host& host_;
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const TimelineEntry>, kEntries> entries_;  ///< by slot; failures first
  Part failures_{0, kFailures};
  Part others_{kFailures, kEntries - kFailures};
  uint64_t next_number_ = 1;
  Subscription<TimelineEntry, Keep> news_{{*this}};
};

}  // namespace atl::frontends::console
