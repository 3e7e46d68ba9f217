/// Cross-origin resource sharing (the Fetch standard): which web pages' scripts may call this server and read its answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

/// Read-only after parse(). [any]
class CorsPolicy {
 public:
  /// No page of another origin may.
  CorsPolicy() noexcept = default;

  /// \param origins  of an option: "https://app.example", "http://127.0.0.1:8080"; "null" for pages of files;
  /// "*" for every page
  /// Errors: INVALID_ARGUMENT one that no browser would send.
  static Result<CorsPolicy> parse(const std::vector<std::string>& origins) noexcept;

  /// False: nothing need be looked at.
  bool is_active() const noexcept { return allows_all_ || !origins_.empty(); }

  /// The header lines that every answer to the request has; replaces what `lines` holds. An origin that may not
  /// call gets none that allow it: its browser keeps the answer from the page.
  /// \returns whether the request is a preflight of an origin that may call: it is answered with these lines alone
  bool judge(const RequestHead& head, std::string* lines) const;

  /// Whether pages of the origin may call, be they of another one than the server's. \param origin  as browsers send it
  bool allows(std::string_view origin) const noexcept;

 private:
  bool allows_all_ = false;
  std::vector<std::string> origins_;
};

}  // namespace atl::frontends::http
