/// How many open pages of the console may ask at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::console {

/// A page makes up an id when it is loaded, and sends it with each of the console's calls. Scripts that send none are not
/// counted: their calls cost what one call costs. [any]
class Viewers {
 public:
  static constexpr size_t kMost = 16;
  static constexpr std::string_view kHeader = "x-atoll-viewer";

  /// Whether the page has a place. It keeps it for 10 s after it has asked last, so that a page that is closed or hidden
  /// makes room.
  /// \param id      its first 64 bytes count
  /// \param now_ns  by Clock::now_ns()
  bool admits(std::string_view id, int64_t now_ns);

 private:
  struct Viewer {
    std::string id;
    int64_t seen_ns = 0;
  };
  std::mutex mutex_;
  std::vector<Viewer> viewers_;  ///< at most kMost
};

}  // namespace atl::frontends::console
