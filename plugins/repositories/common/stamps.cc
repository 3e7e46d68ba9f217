#include "repositories/common/stamps.h"

#include <atomic>
#include <functional>

#include "atoll/core/clock.h"
#include "repositories/common/names.h"

namespace atl::filesystem {

namespace {

// Two changes within one tick of a file system's clock get the same time: of Linux a few milliseconds, and
// seconds where it keeps no fractions.
constexpr int64_t kTickNs = 20 * kNsPerMs;
constexpr int64_t kCoarseTickNs = 2 * kNsPerSecond;

int64_t nanoseconds(const struct timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; }

void append(std::string* bytes, int64_t number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

void StampCollector::add(std::string_view path, const struct stat& info) {
  std::string_view name = path.substr(0, path.find('/'));
  auto found = sums_.find(name);
  if (found == sums_.end()) found = sums_.emplace(std::string(name), Sum()).first;
  Sum& sum = found->second;

  std::string bytes(path);
  bytes.push_back('\0');
  append(&bytes, info.st_mode & S_IFMT);
  if (S_ISDIR(info.st_mode)) {
    sum.directory |= name.size() == path.size();
  } else {
    append(&bytes, info.st_size);
    append(&bytes, nanoseconds(info.st_mtim));
    append(&bytes, nanoseconds(info.st_ctim));
    int64_t tick_ns = info.st_ctim.tv_nsec == 0 ? kCoarseTickNs : kTickNs;
    // What changed in the future changed on a machine whose clock says nothing here.
    int64_t age_ns = wall_ns_ - nanoseconds(info.st_ctim);
    sum.fresh |= age_ns < tick_ns && age_ns > -tick_ns;
  }
  // A sum, because directories have no order.
  sum.value += std::hash<std::string_view>()(bytes);
}

std::vector<RepositoryStamp> StampCollector::finish(std::string_view config_name) const {
  static std::atomic<uint64_t> uses{0};
  std::vector<RepositoryStamp> stamps;
  for (const auto& [name, sum] : sums_) {
    RepositoryStamp stamp;
    stamp.name = name;
    stamp.value = sum.value;
    if (sum.fresh) stamp.value += std::hash<std::string>()(cat(name, '/', ++uses));
    if (name == config_name) {
      stamp.part = RepositoryStamp::Part::kConfiguration;
    } else if (auto version = parse_version(name); version && sum.directory) {
      stamp.part = RepositoryStamp::Part::kVersion;
      stamp.version = *version;
    }
    stamps.push_back(std::move(stamp));
  }
  return stamps;
}

}  // namespace atl::filesystem
