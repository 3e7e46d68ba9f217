/// The headers of a call to another server.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc_nghttp2/client/client_connection.h"

namespace atl::frontends::grpc_nghttp2 {

/// Where a call goes, as HTTP/2 says it.
struct RequestTarget {
  std::string_view scheme;
  std::string_view authority;
};

/// What the other server gets of a client's call beside its messages: its metadata, but for what is not passed on, and
/// what is left of its time.
class RequestHeaders {
 public:
  RequestHeaders(const ClientRequest& request, const RequestTarget& target, int64_t now_ns);
  RequestHeaders(const RequestHeaders&) = delete;
  RequestHeaders& operator=(const RequestHeaders&) = delete;
  /// Valid as long as this and the request.
  std::span<const nghttp2_nv> fields() const noexcept { return fields_; }

 private:
  void add(std::string_view name, std::string_view value);

  std::vector<std::string> kept_;
  std::vector<nghttp2_nv> fields_;
};

}  // namespace atl::frontends::grpc_nghttp2
