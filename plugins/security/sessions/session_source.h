/// Callers by the cookies of their browsers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"
#include "atoll/frontend/access.h"
#include "security/sessions/session_table.h"

namespace atl::sessions {

/// Calls that anybody may make: the console's own files, and to log in and out.
inline constexpr std::string_view kPageCategory = "console.page";
inline constexpr std::string_view kLoginCategory = "console.login";
inline constexpr std::string_view kCookie = "atoll-session";
/// A page of another site cannot send it: its browser asks the server first, which allows nothing.
inline constexpr std::string_view kOwnHeader = "x-atoll-console";

/// The id in headers `Cookie`; empty: there is none, or several. \param headers  their values
std::string_view session_id(const std::vector<std::string_view>& headers) noexcept;

/// What a call shows of itself: the headers on which it depends whether a cookie counts.
struct PageCall {
  std::vector<std::string_view> own;      ///< values of kOwnHeader
  std::vector<std::string_view> origins;  ///< of `Origin`
  std::vector<std::string_view> hosts;    ///< of `Host`
};
/// Whether a page of this server makes the call.
bool is_own_page(const PageCall& call) noexcept;

/// Another source of identities says who a token belongs to, at each call: a session ends with its key.
class SessionSource {
 public:
  /// All of them outlive this object.
  SessionSource(Host& host, SessionTable& table);

  /// Follows the sources of identities. Errors: as Followed::open(). [control]
  Status open() noexcept { return watch_.open(); }
  /// [control]
  void close() noexcept;

  /// As Access::identify(). [request]
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) const noexcept;
  /// Whose token it is. Errors: UNAUTHENTICATED nobody's; UNAVAILABLE that cannot be told now. [any]
  Result<std::shared_ptr<const Identity>> owner_of(std::string_view token) const;

 private:
  struct Sources {
    std::vector<Service<Access>> list;
  };
  class SessionIdentity;

  Sources find_sources() noexcept;
  Result<std::shared_ptr<const Identity>> identify_token(std::string_view token, int64_t ends_ns,
                                                         const AccessQuestion& question) const;

  Host& host_;
  SessionTable& table_;
  Replaceable<Sources> sources_;
  Followed<Access> watch_;  ///< never has a provider: it says when to look for sources again
};

}  // namespace atl::sessions
