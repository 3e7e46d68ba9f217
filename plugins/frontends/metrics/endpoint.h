/// GET /metrics and /metrics/summary: what this plugin answers at its own address.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/http/application.h"
#include "frontends/common/http/server_options.h"
#include "frontends/metrics/page_request.h"
#include "frontends/metrics/settings.h"

namespace atl::frontends::metrics {

class MetricsEndpoint final : public http::Application {
 public:
  /// Of the request line, and of the header lines together.
  static constexpr uint32_t kMaxHeadBytes = 8 * 1024;
  static constexpr uint32_t kMaxBodyBytes = 64 * 1024;

  /// \param gate  answers under way hold a pass. \param page  called on the server's thread
  MetricsEndpoint(Gate& gate, MakePage page) : gate_(gate), page_(std::move(page)) {}

  /// One thread; a whole request and a whole answer within the idle time.
  static http::ServerOptions server_options(const MetricsSettings& settings);

  // --- Application ---
  std::unique_ptr<http::Handler> make_handler(http::ServerThread& thread) override;
  std::string refusal_body(std::string_view text, http::ReplyHead& head) const override;
  /// The page is given for as long as there are connections.
  void close() noexcept override {}
  /// Those that run end with their connections.
  int64_t calls() const noexcept override { return 0; }

 private:
  Gate& gate_;
  const MakePage page_;
};

}  // namespace atl::frontends::metrics
