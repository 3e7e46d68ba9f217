#include "frontends/console/timeline/timeline_ring.h"

#include <algorithm>

#include "atoll/core/clock.h"

namespace atl::frontends::console {

Status TimelineRing::open() { return news_.open(host_.events()); }

void TimelineRing::add(TimelineEntry entry) {
  if (entry.time_ms == 0) entry.time_ms = host_.clock().wall_ns() / kNsPerMs;
  {
    std::lock_guard lock(mutex_);
    entry.number = next_number_;
    const Part& part = is_failure(entry.kind) ? failures_ : others_;
    entry.slot = part.first + part.next;
    entry.key_text = cat(host_.instance_name(), " ", entry.slot);
    place(entry);
  }
  host_.events().publish(entry);
}

TimelineEntries TimelineRing::view() const {
  TimelineEntries view;
  {
    std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (entry != nullptr) view.push_back(entry);
    }
  }
  std::sort(view.begin(), view.end(), [](const auto& a, const auto& b) { return a->number > b->number; });
  return view;
}

std::shared_ptr<const TimelineEntry> TimelineRing::newest(
    const std::function<bool(const TimelineEntry&)>& is_wanted) const {
  std::shared_ptr<const TimelineEntry> newest;
  std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry == nullptr || !is_wanted(*entry)) continue;
    if (newest == nullptr || newest->number < entry->number) newest = entry;
  }
  return newest;
}

void TimelineRing::keep(const TimelineEntry& entry) {
  const std::string_view key = entry.key();
  if (key.substr(0, key.rfind(' ')) != host_.instance_name() || entry.slot >= kEntries) return;
  std::lock_guard lock(mutex_);
  if (entries_[entry.slot] != nullptr && entries_[entry.slot]->number >= entry.number) return;
  place(entry);
}

void TimelineRing::place(const TimelineEntry& entry) {
  entries_[entry.slot] = std::make_shared<const TimelineEntry>(entry);
  // What an instance before has left comes in no order.
  next_number_ = std::max(next_number_, entry.number + 1);
  Part& part = entry.slot < kFailures ? failures_ : others_;
  if (entry.number <= part.newest) return;
  part.newest = entry.number;
  part.next = (entry.slot - part.first + 1) % part.size;
}

}  // namespace atl::frontends::console
