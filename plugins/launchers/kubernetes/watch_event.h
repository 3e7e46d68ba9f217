/// Lines of a watch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "launchers/kubernetes/pod_view.h"

namespace atl::launchers {

enum class WatchKind {
  kChanged,   ///< the pod is there, as it is now
  kDeleted,   ///< the pod is gone, and was so
  kBookmark,  ///< the version alone
  kExpired,   ///< nothing can be told from the version on; everything has to be listed
  kFailed,    ///< the server gives the watch up
};

struct WatchEvent {
  WatchKind kind = WatchKind::kFailed;
  PodView pod = {};          ///< of kChanged and kDeleted
  std::string version = {};  ///< from which a later watch goes on; empty: as before
  std::string text = {};     ///< of kExpired and kFailed
};

/// One line, {"type", "object"}. A line that is none is kFailed.
WatchEvent read_watch_line(std::string_view line);
/// Takes the lines that are whole; half a line stays.
std::vector<WatchEvent> take_watch_events(std::string& text);

/// One page of a list of pods.
struct PodPage {
  std::vector<PodView> pods;
  std::string version;    ///< from which a watch goes on
  std::string continues;  ///< asks for the next page; empty: this is the last one
};
/// Errors: UNAVAILABLE it is no list.
Result<PodPage> read_pod_page(std::string_view text);

}  // namespace atl::launchers
