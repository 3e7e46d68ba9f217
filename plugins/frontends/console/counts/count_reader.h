/// What other plugins count, as far as the console shows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/metrics.h"
#include "atoll/core/registry.h"

namespace atl::frontends::console {

/// One number of a family.
struct CountedSample {
  std::vector<std::pair<std::string, std::string>> labels;  ///< name and value
  double value = 0;                                         ///< finite

  /// Empty: it has no such label.
  std::string_view label(std::string_view name) const noexcept;
};

/// Which member of a row a family's samples are.
template <class Row>
struct CountColumn {
  std::string_view family;
  double Row::*member;
};

struct CountReading {
  int64_t taken_ns = 0;  ///< when it was begun, by Clock::now_ns()
  int64_t wall_ms = 0;   ///< when it was begun, in milliseconds since 1970
  int64_t took_ns = 0;
  uint64_t left_out = 0;  ///< samples beyond the most that are kept
  std::map<std::string, std::vector<CountedSample>, std::less<>> families;

  /// In the order of their sources; empty: nobody counts this.
  const std::vector<CountedSample>& of(std::string_view family) const noexcept;
};

/// Asks those who say what waits only when somebody wants to know, and as seldom as CatalogView looks at models. Of models only
/// what is not 0 is kept. For one thread at a time.
class CountReader {
 public:
  static constexpr size_t kMostSamples = 20'000;

  /// Both outlive this object.
  CountReader(Registry& registry, const Clock& clock) : registry_(registry), clock_(clock) {}

  /// [worker]
  const CountReading& read();

 private:
  Registry& registry_;
  const Clock& clock_;
  CountReading reading_;
  bool is_read_ = false;
};

}  // namespace atl::frontends::console
