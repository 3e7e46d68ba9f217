#include "frontends/console/viewers.h"

#include <algorithm>

#include "atoll/core/clock.h"

namespace atl::frontends::console {
namespace {

constexpr int64_t kViewerForgottenNs = 10 * kNsPerSecond;
constexpr size_t kViewerIdBytesMax = 64;

}  // namespace

bool Viewers::admits(std::string_view id, int64_t now_ns) {
  id = id.substr(0, kViewerIdBytesMax);
  std::lock_guard lock(mutex_);
  std::erase_if(viewers_, [&](const Viewer& one) { return now_ns - one.seen_ns > kViewerForgottenNs; });
  const auto found =
      std::find_if(viewers_.begin(), viewers_.end(), [&](const Viewer& one) { return one.id == id; });
  if (found != viewers_.end()) {
    found->seen_ns = now_ns;
    return true;
  }
  if (viewers_.size() == kMost) return false;
  viewers_.push_back({std::string(id), now_ns});
  return true;
}

}  // namespace atl::frontends::console
