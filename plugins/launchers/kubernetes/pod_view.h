/// What a cluster says of a pod.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {

enum class PodStage {
  kUnplaced,  ///< no node has room for it
  kStarting,  ///< its server does not run yet
  kRunning,   ///< its server runs, and the pod has an address
  kEnded,     ///< its server has ended, and does not come back
};

struct PodView {
  std::string name;
  std::string uid;
  std::string version;    ///< of the object, to be compared for equality only
  std::string server_id;  ///< from its annotation; empty: it is no server's
  std::string keeper;
  std::string node = {};
  std::string host = {};  ///< its address
  PodStage stage = PodStage::kStarting;
  /// Why it is unplaced, does not start, or has ended, as a listener is told it: RESOURCE_EXHAUSTED there is no room; INVALID_ARGUMENT
  /// it never can run; UNAVAILABLE else. Success: it ended by itself without an error, or there is nothing to say yet.
  Status reason = {};
  /// It is asked to end, by whomever.
  bool is_ending = false;
  /// Its server has run, so that it may have said something.
  bool has_log = false;

  /// Never fails: what is not there is empty.
  static PodView read(const Json& pod);
};

}  // namespace atl::launchers
