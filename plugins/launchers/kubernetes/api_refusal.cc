#include "launchers/kubernetes/api_refusal.h"

#include <algorithm>
#include <charconv>

#include "atoll/core/clock.h"
#include "atoll/core/utf8.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {
namespace {

constexpr size_t kTextBytesMax = 600;
constexpr int64_t kFirstPauseNs = 500 * kNsPerMs, kPauseMaxNs = 30 * kNsPerSecond,
                  kAskedMaxNs = 60 * kNsPerSecond;

/// What it says of itself, for people.
std::string said(const HttpAnswer& answer) {
  const std::string message = text_at(parse_json(answer.body), {"message"});
  const std::string_view text = message.empty() ? std::string_view(answer.body) : std::string_view(message);
  return cat("HTTP ", answer.status, text.empty() ? "" : ": ",
             replace_invalid_utf8(text.substr(0, kTextBytesMax)));
}

int64_t retry_after_ns(const HttpAnswer& answer) {
  int64_t seconds = 0;
  if (answer.headers.empty()) return 0;
  const std::string& text = answer.headers.front();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec != std::errc() || seconds <= 0) return 0;
  return std::min(seconds, kAskedMaxNs / kNsPerSecond) * kNsPerSecond;
}

}  // namespace

ApiRefusal read_refusal(const HttpAnswer& answer) {
  const std::string text = said(answer);
  switch (answer.status) {
    case 403:
      if (text.find("exceeded quota") != std::string::npos)
        return {make_status(Code::kResourceExhausted, "the namespace has no quota left: ", text)};
      return {invalid_argument("the cluster does not allow it: ", text)};
    case 400:
    case 404:
    case 405:
    case 413:
    case 415:
    case 422:
      return {invalid_argument("the cluster refuses it: ", text)};
    default:
      return {unavailable("the cluster does not answer: ", text), true, retry_after_ns(answer)};
  }
}

int64_t retry_pause_ns(uint32_t failures, int64_t asked_ns, uint64_t random) {
  const uint32_t doublings = std::min(std::max(failures, 1u) - 1, 10u);
  const int64_t pause_ns = std::min(kFirstPauseNs << doublings, kPauseMaxNs);
  // Between three quarters of it and all.
  const int64_t spread_ns = pause_ns / 4;
  return std::max(asked_ns, pause_ns - static_cast<int64_t>(random % static_cast<uint64_t>(spread_ns)));
}

}  // namespace atl::launchers
