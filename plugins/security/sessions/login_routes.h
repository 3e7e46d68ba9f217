/// Logging in and out.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "security/sessions/session_source.h"
#include "security/sessions/session_table.h"

namespace atl::sessions {

/// How many wrong tokens there were in this second. [any]
class WrongTokens {
 public:
  static constexpr uint32_t kMostASecond = 10;
  /// Counts one. \returns false: it is one too many
  bool add(int64_t now_ns) noexcept;

 private:
  std::mutex mutex_;
  int64_t since_ns_ = 0;
  uint32_t count_ = 0;
};

class LoginRoutes final : public HttpRoutes {
 public:
  /// All of them outlive this object.
  LoginRoutes(Host& host, SessionTable& table, SessionSource& source, int64_t lifetime_ns)
      : host_(host), table_(table), source_(source), lifetime_ns_(lifetime_ns) {}
  virtual ~LoginRoutes() = default;

  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void login(HttpExchange& exchange);
  void logout(HttpExchange& exchange);

  Host& host_;
  SessionTable& table_;
  SessionSource& source_;
  const int64_t lifetime_ns_;
  WrongTokens wrong_;
};

}  // namespace atl::sessions
