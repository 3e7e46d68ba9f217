/// What has become of the requests that were replayed.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace atl::replay {

struct Summary {
  uint64_t requests = 0;     ///< that have been answered, or have failed
  uint64_t failures = 0;     ///< that were answered when they were recorded
  uint64_t differences = 0;  ///< between answers; a failure is none
  uint64_t compared = 0;
  int64_t latest_ns = 0;                                     ///< how late the latest request went out
  std::map<std::string, std::vector<int64_t>> latencies_ns;  ///< of answers, by model
};

/// One object on one line.
void print_json(std::ostream& out, const Summary& summary);
/// For people. \param compares  whether answers were to be compared
void print_text(std::ostream& out, const Summary& summary, bool compares);

}  // namespace atl::replay
