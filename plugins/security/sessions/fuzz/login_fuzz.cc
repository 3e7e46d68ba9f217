// Any bytes as cookies, as the headers that tell whether a page is the server's own, and as the body of a login. The first byte chooses.
// Nobody may log in, as no source knows anybody.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_http_exchange.h"
#include "security/sessions/login_routes.h"

namespace {

using namespace atl::sessions;  // NOLINT

void check(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (true) {
    const size_t end = text.find('\n');
    all.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

void read_cookies(std::string_view text) {
  const std::string_view id = session_id(lines(text));
  if (id.empty()) return;
  check(id.data() >= text.data() && id.data() + id.size() <= text.data() + text.size());
  check(id.find(';') == std::string_view::npos);
  const std::string twice = std::string(kCookie) + "=a; " + std::string(kCookie) + "=" + std::string(id);
  check(session_id({twice}).empty());
}

void read_page(std::string_view text) {
  std::vector<std::string_view> parts = lines(text);
  const std::string_view host = parts.front();
  parts.erase(parts.begin());
  check(!is_own_page({{}, parts, {host}}));
  check(!is_own_page({{"1"}, parts, {host, host}}));
  if (is_own_page({{"1"}, parts, {host}})) {
    for (const std::string_view origin : parts)
      check(origin.size() > host.size() && origin.starts_with("http"));
  }
}

void log_in(std::string_view body) {
  static atl::test::FakeHost host;
  static SessionTable table(host.clock(), atl::kNsPerSecond, 10);
  static SessionSource source(host, table);
  static LoginRoutes routes(host, table, source, atl::kNsPerSecond);
  atl::test::FakeHttpExchange exchange(
      {"POST", "/v2/console/login", "", {{"host", "a"}, {"x-atoll-console", "1"}}, std::string(body)});
  exchange.send_to(routes, "/v2/console/login");
  const int status = exchange.reply().status;
  check(status == 400 || status == 503);
  check(exchange.problems().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_cookies(rest);
      break;
    case 1:
      read_page(rest);
      break;
    default:
      log_in(rest);
  }
  return 0;
}
