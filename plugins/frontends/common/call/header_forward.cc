#include "frontends/common/call/header_forward.h"

#include <re2/re2.h>
#include <strings.h>

#include <algorithm>

namespace atl::frontends {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

HeaderForward::HeaderForward() noexcept = default;
HeaderForward::HeaderForward(HeaderForward&&) noexcept = default;
HeaderForward& HeaderForward::operator=(HeaderForward&&) noexcept = default;
HeaderForward::~HeaderForward() = default;

Result<HeaderForward> HeaderForward::compile(std::string_view pattern) noexcept {
  HeaderForward forward;
  if (pattern.empty()) return forward;
  re2::RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    return invalid_argument("option 'header_forward_pattern' is '", pattern,
                            "', expected a regular expression in RE2 syntax: ", compiled->error());
  }
  forward.pattern_ = std::move(compiled);
  return forward;
}

bool HeaderForward::matches(std::string_view name) const noexcept {
  return pattern_ != nullptr && re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *pattern_);
}

bool HeaderForward::reserved(std::string_view name) noexcept {
  constexpr std::string_view kReserved[] = {"sequence_id", "sequence_start", "sequence_end",      "priority",
                                            "timeout",     "headers",        "binary_data_output"};
  constexpr std::string_view kReservedPrefix = "triton_";
  return equal_ignoring_case(name.substr(0, kReservedPrefix.size()), kReservedPrefix) ||
         std::any_of(std::begin(kReserved), std::end(kReserved),
                     [name](std::string_view reserved) { return equal_ignoring_case(name, reserved); });
}

bool HeaderForward::is_credential(std::string_view name) noexcept {
  constexpr std::string_view kCredentials[] = {"authorization", "proxy-authorization", "cookie",
                                               "x-forwarded-client-cert"};
  return std::any_of(std::begin(kCredentials), std::end(kCredentials),
                     [name](std::string_view one) { return equal_ignoring_case(name, one); });
}

}  // namespace atl::frontends
