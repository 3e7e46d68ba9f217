/// Makes the entries of the timeline from the events of the server and from looks at the catalog.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>

#include "atoll/core/event_bus.h"
#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/reload_events.h"
#include "atoll/frontend/audit.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/timeline/timeline_ring.h"

namespace atl::frontends::console {

class TimelineRecorder {
 public:
  /// Both outlive this object.
  TimelineRecorder(Host& host, TimelineRing& ring) : host_(host), ring_(ring) {}

  /// Begins to listen. What is so already becomes entries only while the server is brought up: later nobody knows when
  /// it happened. Errors: as Subscription::open(). [control]
  Status open();
  /// [control]
  void close() noexcept;

  /// Notes failures that no event tells: those of loads that have made no version, or have left the one before in its
  /// place. For one thread at a time.
  void note_failures(const CatalogLook& look);

 private:
  template <class Event>
  struct Hear {
    TimelineRecorder& recorder;
    void operator()(const Event& event) const { recorder.hear(event); }
  };
  template <class Event>
  using Hearing = Subscription<Event, Hear<Event>>;

  void hear(const ServerStateChanged& event);
  void hear(const ReloadChanged& event);
  void hear(const PluginStateChanged& event);
  void hear(const ModelStateChanged& event);
  void hear(const ControlCallEnded& event);
  void hear(const TimelineBegun& event);
  /// Whether what is heard now becomes an entry.
  bool is_noted() const noexcept;

  Host& host_;
  TimelineRing& ring_;
  // For the control thread:
  bool has_begun_ = false;    ///< the present states have been heard
  bool is_bring_up_ = false;  ///< the server was being brought up when this began to listen
  std::map<std::string, int64_t, std::less<>> loading_;  ///< keys of versions, since when
  // For note_failures():
  int64_t looked_ns_ = -1;               ///< when the last look was begun
  std::unordered_set<size_t> failures_;  ///< hashes of those of the last look

  Hearing<ServerStateChanged> server_news_{{*this}};
  Hearing<PluginStateChanged> plugin_news_{{*this}};
  Hearing<ModelStateChanged> model_news_{{*this}};
  Hearing<ReloadChanged> reload_news_{{*this}};
  Hearing<ControlCallEnded> call_news_{{*this}};
  Hearing<TimelineBegun> begun_news_{{*this}};
};

}  // namespace atl::frontends::console
