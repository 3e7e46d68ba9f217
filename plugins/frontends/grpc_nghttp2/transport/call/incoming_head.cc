#include "frontends/grpc_nghttp2/transport/call/incoming_head.h"

#include <optional>

#include "frontends/grpc_nghttp2/transport/frames/grpc_code.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// HTTP/2 counts so much for a field beside its name and value.
constexpr size_t kFieldBytes = 32;

/// 0: none that is known.
uint32_t encoding_bit(std::string_view name) noexcept {
  if (name == "identity") return static_cast<uint32_t>(MessageEncoding::kIdentity);
  if (name == "gzip") return static_cast<uint32_t>(MessageEncoding::kGzip);
  return name == "deflate" ? static_cast<uint32_t>(MessageEncoding::kDeflate) : 0;
}

/// Calls `use` with each part of a list that commas separate, without blanks.
template <class Use>
void for_each_part(std::string_view list, Use use) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    use(part);
  }
}

}  // namespace

bool IncomingHead::count(const SessionContext& context, std::string_view name,
                         std::string_view value) noexcept {
  headers_.list_bytes += name.size() + value.size() + kFieldBytes;
  ++headers_.list_count;
  return headers_.list_bytes <= kMuchTooLong * context.settings.max_metadata_bytes;
}

bool IncomingHead::add(SessionContext& context, std::string_view name, std::string_view value) noexcept {
  const SessionSettings& settings = context.settings;
  const bool is_bearable = count(context, name, value);
  if (headers_.list_bytes > settings.max_metadata_bytes ||
      headers_.list_count > settings.max_metadata_fields) {
    if (code_ == 0) context.counters.count(RefusedFor::kMetadata);
    refuse(kGrpcResourceExhausted, "received initial metadata size exceeds limit");
    return is_bearable;
  }
  if (name.starts_with(':')) {
    read_pseudo_header(context.methods, name, value);
  } else if (name == "te") {
    headers_.has_te = true;  // nghttp2 has seen to its value
  } else if (name != "content-type" && !(name.starts_with("grpc-") && read_grpc_header(name, value))) {
    add_metadata(name, value);
  }
  return true;
}

void IncomingHead::repeat(SessionContext& context, const CallHeaders& headers, std::string_view path) {
  headers_ = headers;
  method_ = context.methods.find(path);
}

void IncomingHead::read_pseudo_header(MethodFinder& methods, std::string_view name,
                                      std::string_view value) noexcept {
  if (name == ":path") {
    method_ = methods.find(value);
  } else if (name == ":method") {
    headers_.is_post = value == "POST";
  }
}

bool IncomingHead::read_grpc_header(std::string_view name, std::string_view value) noexcept {
  if (name == "grpc-timeout") {
    headers_.timeout_ns = parse_timeout_ns(value).value_or(-1);
  } else if (name == "grpc-encoding") {
    const uint32_t bit = encoding_bit(value);
    if (bit == 0) {
      refuse(kGrpcUnimplemented,
             cat("grpc-encoding '", value, "' is not supported, expected identity, deflate or gzip"));
    } else {
      headers_.encoding = static_cast<MessageEncoding>(bit);
      headers_.has_encoding = headers_.encoding != MessageEncoding::kIdentity;
    }
  } else if (name == "grpc-accept-encoding") {
    for_each_part(value, [this](std::string_view part) { headers_.accepted |= encoding_bit(part); });
  } else {
    return false;
  }
  return true;
}

void IncomingHead::add_metadata(std::string_view name, std::string_view value) {
  if (!name.ends_with("-bin")) return headers_.metadata.add(name, value);
  for_each_part(value, [this, name](std::string_view part) {
    const std::optional<std::string> bytes = decode_base64(part);
    if (bytes) return headers_.metadata.add(name, *bytes);
    refuse(kGrpcInternal, cat("Error parsing '", name, "' metadata: illegal base64 encoding"));
  });
}

bool IncomingHead::is_refused() noexcept {
  if (code_ == 0 && !headers_.is_post) refuse(kGrpcUnknown, "Bad method header");
  if (code_ == 0 && !headers_.has_te) refuse(kGrpcUnknown, "Missing :te header");
  if (code_ == 0 && method_ == nullptr) refuse(kGrpcUnimplemented, {});
  if (code_ == 0 && headers_.timeout_ns == 0) refuse(kGrpcDeadlineExceeded, "Deadline Exceeded");
  return code_ != 0;
}

}  // namespace atl::frontends::grpc_nghttp2
