/// What of an answer that grows token by token may go out already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::llamacpp {

/// Holds back what may be the beginning of a stop string, or a part of a UTF-8 character. Bytes that cannot become a character go out as
/// U+FFFD.
class StopText {
 public:
  /// \param stops  none of them empty
  /// \param includes_stop  the stop string goes out, too; what is behind it does not
  StopText(std::vector<std::string> stops, bool includes_stop)
      : stops_(std::move(stops)), includes_stop_(includes_stop) {}

  /// \param looks_for_stops  false: a stop string in what is held is text like any other
  /// \returns what may go out now
  std::string add(std::string_view bytes, bool looks_for_stops = true);
  /// The end: what was held back.
  std::string finish();
  /// A stop string has come.
  bool is_stopped() const noexcept { return is_stopped_; }

 private:
  bool find_stop();
  size_t releasable(bool looks_for_stops) const;
  std::string take(size_t size);

  std::vector<std::string> stops_;
  bool includes_stop_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace atl::llamacpp
