#include "frontends/grpc_nghttp2/client/request_headers.h"

#include <algorithm>

#include "atoll/core/text.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"

namespace atl::frontends::grpc_nghttp2 {

RequestHeaders::RequestHeaders(const ClientRequest& request, const RequestTarget& target, int64_t now_ns) {
  kept_.reserve(request.metadata.size() + 1);  // they do not move
  add(":method", "POST");
  add(":scheme", target.scheme);
  add(":path", request.path);
  add(":authority", target.authority);
  add("te", "trailers");
  add("content-type", "application/grpc");
  add("user-agent", "atoll");
  if (request.deadline_ns != 0) {
    add("grpc-timeout", kept_.emplace_back(timeout_text(std::max<int64_t>(0, request.deadline_ns - now_ns))));
  }
  for (size_t i = 0; i < request.metadata.size(); ++i) {
    const HeaderField field = request.metadata[i];
    if (field.name.starts_with("grpc-") || !is_passed_on(field.name)) continue;
    const bool is_binary = field.name.ends_with("-bin");
    add(field.name,
        is_binary ? std::string_view(kept_.emplace_back(encode_base64(field.value))) : field.value);
  }
}

void RequestHeaders::add(std::string_view name, std::string_view value) {
  fields_.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                     NGHTTP2_NV_FLAG_NONE});
}

}  // namespace atl::frontends::grpc_nghttp2
