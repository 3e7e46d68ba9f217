/// Tells whether something in a model directory changed, without reading any content.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/models/repository.h"

namespace atl::filesystem {

/// Gathers what a scan reports into one stamp for each entry directly below the model directory.
///
/// A stamp is made of the paths below the entry, their kinds, and of files the size and both time stamps. The
/// second one (ctime) cannot be set, so it also shows what was copied over with its old time. Times of
/// directories do not count: what they would tell, the paths tell, and an editor's swap file that came and
/// went leaves no trace.
class StampCollector {
 public:
  /// \param wall_ns  now, since the Unix epoch, from before the scan
  explicit StampCollector(int64_t wall_ns) : wall_ns_(wall_ns) {}

  /// \param path  below the model directory
  void add(std::string_view path, const struct stat& info);
  /// Ordered by name. \param config_name  of the entry that the configuration is read from
  std::vector<RepositoryStamp> finish(std::string_view config_name) const;

 private:
  struct Sum {
    uint64_t value = 0;
    bool directory = false;
    bool fresh = false;  ///< something in it changed too short a time ago
  };

  const int64_t wall_ns_;
  std::map<std::string, Sum, std::less<>> sums_;
};

}  // namespace atl::filesystem
