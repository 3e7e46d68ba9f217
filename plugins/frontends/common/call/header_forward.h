/// Which of a client's headers become parameters of its request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace re2 {
class RE2;
}

namespace atl::frontends {

/// Read-only after compile(). [any]
class HeaderForward {
 public:
  /// Forwards nothing.
  HeaderForward() noexcept;
  HeaderForward(HeaderForward&&) noexcept;
  HeaderForward& operator=(HeaderForward&&) noexcept;
  ~HeaderForward();

  /// \param pattern  RE2 syntax, matched anywhere in a header's name and without regard to case, unless it
  /// says otherwise ("(?-i)"); empty: forwards nothing. Errors: INVALID_ARGUMENT, with the place in the
  /// pattern.
  static Result<HeaderForward> compile(std::string_view pattern) noexcept;

  /// False: no header is forwarded, so none need be looked at.
  bool active() const noexcept { return pattern_ != nullptr; }
  bool matches(std::string_view name) const noexcept;

  /// Names with a meaning of their own as request parameters, in any case. A request with such a header that
  /// matches the pattern is refused with messages::reserved_header().
  static bool reserved(std::string_view name) noexcept;
  /// Headers that say who calls, in any case. Where callers are known nobody else is to see what they have presented, so these are not
  /// forwarded, whatever the pattern.
  static bool is_credential(std::string_view name) noexcept;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace atl::frontends
