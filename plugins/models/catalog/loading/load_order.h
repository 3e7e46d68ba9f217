/// A load that is to be made: of what, why, and who is told.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/models/model.h"

namespace atl::models {

using LoadDone = std::function<void(const ModelLoadOutcome&)>;

struct LoadOrder {
  std::optional<std::string> config;  ///< JSON that takes the place of the directory's configuration
  std::vector<RepositoryFile> files;  ///< take the place of the directory
  bool requested = false;   ///< by a call that names the model; not for the sake of an ensemble or service
  bool by_client = false;   ///< what it says takes the place of what a client made the model before
  bool startup = false;     ///< by the control plugin while the server starts
  bool rebuild = false;     ///< what did not change, too: a service or a member was replaced
  bool reschedule = false;  ///< what did not change gets the scheduler that it would be given now
  bool awaits_departures = false;  ///< its end is told when the instances that it takes away are gone
  bool refresh_members = false;    ///< of an ensemble: members that changed are loaded, not only missing ones
  std::vector<LoadDone> callbacks = {};

  bool from_repository() const noexcept { return !config && files.empty(); }
  /// Nothing but the scheduler is to be another one.
  bool only_reschedules() const noexcept {
    return reschedule && !rebuild && !requested && !refresh_members && from_repository();
  }
};

/// For a reason of the server's own: it stays what the client made it.
inline LoadOrder rebuild_order() {
  LoadOrder order;
  order.rebuild = true;
  return order;
}

/// Likewise, of which no more than the scheduler is to be another one: the repository is not looked at.
inline LoadOrder reschedule_order() {
  LoadOrder order;
  order.reschedule = true;
  return order;
}

/// Loads of one model wait for each other. Those that mean the same state of the repository become one.
inline void enqueue(std::deque<LoadOrder>& waiting, LoadOrder order) {
  bool joins = !waiting.empty() && waiting.back().from_repository() && order.from_repository();
  if (!joins) return waiting.push_back(std::move(order));
  LoadOrder& last = waiting.back();
  last.requested |= order.requested;
  last.by_client |= order.by_client;
  last.startup |= order.startup;
  last.rebuild |= order.rebuild;
  last.reschedule |= order.reschedule;
  last.refresh_members |= order.refresh_members;
  last.awaits_departures |= order.awaits_departures;
  for (LoadDone& done : order.callbacks) last.callbacks.push_back(std::move(done));
}

}  // namespace atl::models
