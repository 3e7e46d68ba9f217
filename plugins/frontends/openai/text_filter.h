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
  /// \param stops  none of them empty
  explicit TextFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// \returns what may go out now
  std::string add(std::string_view piece);
  /// The end: what was held back and is no stop string.
  std::string finish();
  /// A stop string has come: nothing more gets out.
  bool is_stopped() const noexcept { return is_stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace atl::frontends::openai
