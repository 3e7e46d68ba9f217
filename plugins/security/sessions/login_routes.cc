#include "security/sessions/login_routes.h"

#include <strings.h>

#include <algorithm>
#include <span>
#include <utility>

#include "atoll/core/gate.h"
#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/header_values.h"
#include "atoll/lib/json_writer.h"

namespace atl::sessions {
namespace {

constexpr std::string_view kLogin = "/v2/console/login";
constexpr std::string_view kLogout = "/v2/console/logout";
/// Tokens have 8 KiB at most.
constexpr size_t kMostBytes = 16 << 10;

PageCall page_call(const HttpExchange& exchange) {
  return {header_values(exchange, kOwnHeader), header_values(exchange, "origin"),
          header_values(exchange, "host")};
}

/// \param lifetime_s  0: the browser forgets it
std::string cookie(const HttpExchange& exchange, std::string_view id, int64_t lifetime_s) {
  const std::vector<std::string_view> origins = header_values(exchange, "origin");
  const bool is_tls = !origins.empty() && origins.front().starts_with("https://");
  return cat(kCookie, "=", id, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=", lifetime_s,
             is_tls ? "; Secure" : "");
}

void answer(HttpExchange& exchange, int status, std::string_view name, std::string_view text,
            std::string_view set_cookie = {}) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] { write_member(json, name, text); });
  std::vector<HttpHeader> headers = {{"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}};
  if (!set_cookie.empty()) headers.push_back({"set-cookie", set_cookie});
  exchange.answer({.status = status, .content_type = "application/json", .headers = headers},
                  {buffer.GetString(), buffer.GetSize()});
}

/// The member `token` of the body, alone; empty: it has none.
std::string token_of(std::span<const std::byte> body) {
  if (body.size() > kMostBytes) return {};
  CheckedDocument document;
  document.Parse(reinterpret_cast<const char*>(body.data()), body.size());
  if (document.HasParseError() || !document.IsObject() || document.MemberCount() != 1) return {};
  const auto token = document.FindMember("token");
  if (token == document.MemberEnd() || !token->value.IsString()) return {};
  return {token->value.GetString(), token->value.GetStringLength()};
}

/// What stands in a header as it is.
bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

bool WrongTokens::add(int64_t now_ns) noexcept {
  std::lock_guard lock(mutex_);
  if (count_ == 0 || now_ns - since_ns_ >= kNsPerSecond) {
    since_ns_ = now_ns;
    count_ = 0;
  }
  if (count_ >= kMostASecond) return false;
  ++count_;
  return true;
}

std::vector<HttpRoute> LoginRoutes::routes() const noexcept {
  const std::string category(kLoginCategory);
  return {{std::string(kLogin), kHttpPost, category}, {std::string(kLogout), kHttpPost, category}};
}

void LoginRoutes::handle(std::string_view route, HttpExchange& exchange) noexcept {
  const Pass pass(host_.gate());
  if (!pass) return exchange.answer({.status = 503, .content_type = "application/json"}, {});
  const Status status = guarded("logging in", [&]() -> Status {
    if (route != kLogin && route != kLogout) {
      answer(exchange, 404, "error", "There is no such path.");
    } else if (!is_own_page(page_call(exchange))) {
      answer(exchange, 403, "error",
             "Only the server's own pages log in and out; they send x-atoll-console: 1.");
    } else {
      route == kLogin ? login(exchange) : logout(exchange);
    }
    return {};
  });
  if (!status.ok()) exchange.answer({.status = 500, .content_type = "application/json"}, {});
}

void LoginRoutes::login(HttpExchange& exchange) {
  std::string token = token_of(exchange.body());
  if (!is_token(token))
    return answer(exchange, 400, "error",
                  R"(The body has to be {"token":"..."}, with a token as clients send it.)");
  Result<std::shared_ptr<const Identity>> owner = source_.owner_of(token);
  if (!owner.ok() && owner.status().code() == Code::kUnauthenticated) {
    // The right token is taken however many wrong ones there were.
    if (!wrong_.add(host_.clock().now_ns())) return answer(exchange, 429, "error", "too many wrong tokens");
    return answer(exchange, 401, "error", "the call needs a valid credential");
  }
  if (!owner.ok()) return answer(exchange, 503, "error", owner.status().message());
  if (!owner.value()->may(ApiCategory::kOther, "console.read", {}))
    return answer(exchange, 403, "error", "The key has no permission console.read.");
  const std::string name(owner.value()->name());
  Result<std::string> id = table_.add(std::move(token));
  if (!id.ok()) return answer(exchange, 500, "error", id.status().message());
  host_.log().info("'", name, "' has logged in");
  answer(exchange, 200, "caller", name, cookie(exchange, *id, lifetime_ns_ / kNsPerSecond));
}

void LoginRoutes::logout(HttpExchange& exchange) {
  table_.remove(session_id(header_values(exchange, "cookie")));
  answer(exchange, 200, "caller", "", cookie(exchange, "", 0));
}

}  // namespace atl::sessions
