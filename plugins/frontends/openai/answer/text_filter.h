/// What of a text that comes in pieces may go to the client already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::openai {

/// Holds back what may be the beginning of a stop string or of a UTF-8 character that is not whole. A stop string, and what
/// is behind it, never gets out.
class TextFilter {
 public:
  /// \param stops  none of them empty \param includes_stop  the stop string itself gets out
  explicit TextFilter(std::vector<std::string> stops, bool includes_stop = false)
      : stops_(std::move(stops)), includes_stop_(includes_stop) {}

  /// \returns what may go out now
  std::string add(std::string_view piece);
  /// The end: what was held back and is no stop string.
  std::string finish();
  /// A stop string has come: nothing more gets out.
  bool is_stopped() const noexcept { return !stop_.empty(); }
  /// The stop string that has come; empty: none.
  const std::string& stop() const noexcept { return stop_; }

 private:
  std::vector<std::string> stops_;
  const bool includes_stop_;
  std::string held_;
  std::string stop_;
};

}  // namespace atl::frontends::openai
