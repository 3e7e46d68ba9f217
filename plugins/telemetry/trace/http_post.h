/// Sending one document to an HTTP server, and waiting for the answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/lib/http_caller.h"

namespace atl::tracing {

/// How a collector took a document.
struct PostResult {
  Status status;       ///< OK: accepted
  bool again = false;  ///< failed, but may go well later
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Blocks up to the timeout.
  virtual PostResult post(std::string_view body, int64_t timeout_ns) noexcept = 0;
  /// [any] A post() that runs ends at once, and further ones fail, if `refuse` is set.
  virtual void interrupt(bool refuse) noexcept = 0;
};

/// The collector's address with its scheme, which may be left out for http. Errors: INVALID_ARGUMENT it is none.
Result<std::string> whole_url(const std::string& url);

/// http and https, connections are kept. post() by one thread at a time.
class HttpTransport final : public Transport {
 public:
  /// Errors: INVALID_ARGUMENT it is no such address; INTERNAL libcurl cannot be set up.
  static Result<std::unique_ptr<Transport>> create(const std::string& url);
  virtual ~HttpTransport() = default;

  PostResult post(std::string_view body, int64_t timeout_ns) noexcept override;
  void interrupt(bool refuse) noexcept override { caller_.interrupt(refuse); }

 private:
  HttpTransport() = default;

  HttpRequest request_;
  HttpCaller caller_;
};

}  // namespace atl::tracing
