#include "frontends/console/timeline/timeline_recorder.h"

#include <functional>
#include <memory>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::frontends::console {
namespace {

/// Each change is wanted. A server that loads thousands of models is not waited for.
constexpr SubscriptionOptions kEachChange{.depth = 8192, .overflow = Overflow::kDropOldest};
constexpr size_t kMostLoading = 65536;
/// The reason of a version that was unloaded, as events.h says.
constexpr std::string_view kUnloaded = "unloaded";

}  // namespace

Status TimelineRecorder::open() {
  // The present states are heard in the order of these calls, and the last event after them.
  ATOLL_RETURN_IF_ERROR(server_news_.open(host_.events(), kEachChange));
  ATOLL_RETURN_IF_ERROR(plugin_news_.open(host_.events(), kEachChange));
  ATOLL_RETURN_IF_ERROR(model_news_.open(host_.events(), kEachChange));
  ATOLL_RETURN_IF_ERROR(reload_news_.open(host_.events(), kEachChange));
  ATOLL_RETURN_IF_ERROR(call_news_.open(host_.events(), kEachChange));
  ATOLL_RETURN_IF_ERROR(begun_news_.open(host_.events(), kEachChange));
  TimelineBegun begun;
  begun.instance = host_.instance_name();
  host_.events().publish(begun, /*retain=*/false);
  return {};
}

void TimelineRecorder::close() noexcept {
  begun_news_.reset();
  call_news_.reset();
  reload_news_.reset();
  model_news_.reset();
  plugin_news_.reset();
  server_news_.reset();
}

bool TimelineRecorder::is_noted() const noexcept {
  // The instance whose place this one takes notes what happens until it has ended.
  return (has_begun_ || is_bring_up_) && !host_.replaces_running_instance();
}

void TimelineRecorder::hear(const TimelineBegun& event) {
  if (event.instance.view() == host_.instance_name()) has_begun_ = true;
}

void TimelineRecorder::hear(const ServerStateChanged& event) {
  using State = ServerStateChanged::State;
  if (event.state == State::kStarting) is_bring_up_ = true;
  // Later generations are told by ReloadChanged.
  const bool is_up = event.state == State::kActive && event.generation <= 1;
  if (!is_noted() || (!is_up && event.state != State::kDraining)) return;
  TimelineEntry entry;
  entry.kind = is_up ? TimelineKind::kServerActive : TimelineKind::kServerDraining;
  entry.generation = event.generation;
  ring_.add(entry);
}

void TimelineRecorder::hear(const ReloadChanged& event) {
  if (!is_noted() || event.state == ReloadChanged::State::kBegun) return;
  TimelineEntry entry;
  const bool is_applied = event.state == ReloadChanged::State::kApplied;
  entry.kind = is_applied ? TimelineKind::kReloadApplied : TimelineKind::kReloadRefused;
  entry.generation = event.generation;
  entry.reason = event.reason.view();
  ring_.add(entry);
}

void TimelineRecorder::hear(const PluginStateChanged& event) {
  using State = PluginStateChanged::State;
  if (!is_noted()) return;
  TimelineEntry entry;
  if (event.state == State::kActive) {
    entry.kind = TimelineKind::kPluginActive;
  } else if (event.state == State::kFailed) {
    entry.kind = TimelineKind::kPluginFailed;
  } else if (event.state == State::kStopped) {
    entry.kind = TimelineKind::kPluginStopped;
  } else {
    return;
  }
  entry.generation = event.generation;
  entry.subject = event.instance.view();
  entry.plugin = event.plugin.view();
  entry.reason = event.reason.view();
  // A successor's state is published once more when the name becomes its own.
  const auto is_same = [&](const TimelineEntry& other) {
    return other.kind == entry.kind && other.generation == entry.generation &&
           other.subject == entry.subject && other.reason == entry.reason;
  };
  if (ring_.newest(is_same) == nullptr) ring_.add(entry);
}

void TimelineRecorder::hear(const ModelStateChanged& event) {
  if (event.state == ModelState::kLoading) {
    if (loading_.size() >= kMostLoading) loading_.clear();
    loading_.insert_or_assign(std::string(event.key()), host_.clock().now_ns());
    return;
  }
  TimelineEntry entry;
  if (const auto begun = loading_.find(event.key()); begun != loading_.end()) {
    entry.took_ms = (host_.clock().now_ns() - begun->second) / kNsPerMs;
    loading_.erase(begun);
  }
  if (!is_noted()) return;
  if (event.state == ModelState::kReady) {
    // What serves already is not published as LOADING.
    const bool is_first = entry.took_ms != TimelineEntry::kUnknown || !has_begun_;
    entry.kind = is_first ? TimelineKind::kModelReady : TimelineKind::kModelReplaced;
  } else if (event.state == ModelState::kUnavailable) {
    const bool is_unloaded = event.reason.view() == kUnloaded;
    entry.kind = is_unloaded ? TimelineKind::kModelUnloaded : TimelineKind::kModelFailed;
    if (!is_unloaded) entry.reason = event.reason.view();
  } else {
    return;
  }
  entry.subject = event.model.view();
  entry.version = event.version;
  ring_.add(entry);
}

void TimelineRecorder::hear(const ControlCallEnded& event) {
  if (!is_noted()) return;
  TimelineEntry entry;
  entry.kind = event.is_failure ? TimelineKind::kCallFailed : TimelineKind::kCallEnded;
  entry.subject = event.model.view();
  entry.call = event.call.view();
  entry.caller = event.subject.view();
  entry.peer = event.peer.view();
  entry.status = event.status;
  ring_.add(entry);
}

void TimelineRecorder::note_failures(const CatalogLook& look) {
  if (look.taken_ns == looked_ns_ || host_.replaces_running_instance()) return;
  looked_ns_ = look.taken_ns;
  std::unordered_set<size_t> failures;
  for (const ModelIndexEntry& one : look.entries) {
    if (one.reason.empty() || (!one.version.empty() && one.state != model_state_name(ModelState::kReady)))
      continue;
    const size_t hash = std::hash<std::string>()(cat(one.name, "\n", one.version, "\n", one.reason));
    failures.insert(hash);
    if (failures_.contains(hash)) continue;
    TimelineEntry entry;
    entry.kind = TimelineKind::kModelFailed;
    entry.subject = std::string_view(one.name);
    entry.version = version_number(one.version);
    entry.reason = std::string_view(one.reason);
    // An instance before may have noted it.
    const auto last = ring_.newest([&](const TimelineEntry& other) {
      return other.version == entry.version && other.subject == entry.subject && other.generation == 0 &&
             !is_call(other.kind);
    });
    if (last == nullptr || last->kind != entry.kind || !(last->reason == entry.reason)) ring_.add(entry);
  }
  failures_ = std::move(failures);
}

}  // namespace atl::frontends::console
