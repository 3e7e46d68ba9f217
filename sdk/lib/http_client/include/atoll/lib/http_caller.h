/// Calls to HTTP servers that are waited for.
#pragma once

#include <atomic>

#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"

namespace atl {

/// By libcurl, without redirects or cookies. Connections are kept. One thread at a time, but for interrupt().
class HttpCaller {
 public:
  HttpCaller() noexcept = default;
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;
  ~HttpCaller();

  /// Before any call. Errors: INTERNAL libcurl cannot be set up.
  Status open();
  /// Blocks until the answer is whole. \param interrupt  a descriptor; the call is given up as soon as it can be read.
  /// -1: none \returns an answer of any status
  /// Errors: UNAVAILABLE there is no connection, or it broke; DEADLINE_EXCEEDED the request's timeout;
  /// RESOURCE_EXHAUSTED the answer is too large; CANCELLED it was interrupted.
  Result<HttpAnswer> call(const HttpRequest& request, int interrupt = -1) noexcept;
  /// [any] With `refuse`, a call that runs ends at once and further ones fail with CANCELLED; without, calls are made again.
  void interrupt(bool refuse) noexcept;

 private:
  void* multi_ = nullptr;  ///< unlike a single transfer it can be woken by another thread
  std::atomic<bool> refuses_{false};
};

}  // namespace atl
