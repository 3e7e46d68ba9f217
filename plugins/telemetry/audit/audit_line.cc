#include "telemetry/audit/audit_line.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "atoll/lib/rfc3339.h"

namespace atl::audit {
namespace {

/// Bytes of one text. A model's name has 255 at most, a path more.
constexpr size_t kMostBytes = 512;
constexpr std::string_view kRedacted = "[redacted]";

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::Writer<Buffer>;

bool is_token_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

/// A token of a file of keys, "atk_ID_RANDOM", or a JSON web token, which begins with '{"' in base64.
size_t find_token(std::string_view text, size_t from) noexcept {
  return std::min(text.find("atk_", from), text.find("eyJ", from));
}

/// No frontend gives credentials to whoever audits; but a client may write its own where a name belongs.
std::string without_tokens(std::string_view text) {
  std::string out;
  size_t at = 0;
  for (size_t found = find_token(text, 0); found != std::string_view::npos; found = find_token(text, at)) {
    out += text.substr(at, found - at);
    out += kRedacted;
    at = found;
    while (at < text.size() && is_token_byte(text[at])) ++at;
  }
  return out += text.substr(at);
}

std::string line_of(Buffer& buffer) {
  std::string line(buffer.GetString(), buffer.GetSize());
  // RapidJSON leaves DEL as it is.
  for (size_t at = line.find('\x7F'); at != std::string::npos; at = line.find('\x7F', at))
    line.replace(at, 1, "\\u007F");
  return line += '\n';
}

}  // namespace

std::string bounded(std::string_view text) {
  // Tokens are taken out before the text is cut: half a token is a secret, too.
  std::string out = without_tokens(text);
  if (out.size() <= kMostBytes) return out;
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
  out.resize(end);
  return out += "...";
}

std::string call_name(const AuditedCall& call) {
  return call.method.empty() ? std::string(call.path) : cat(call.method, " ", call.path);
}

std::string audit_line(const AuditedCall& call, int64_t wall_ns) {
  Buffer buffer;
  Writer writer(buffer);
  const bool is_denied = !call.rule.empty();
  const bool is_http = call.protocol == CallProtocol::kHttp;
  write_object(writer, [&] {
    write_member(writer, "time", std::string_view(write_rfc3339(wall_ns, SecondDigits::kMilliseconds)));
    write_member(writer, "decision", std::string_view(is_denied ? "denied" : "allowed"));
    write_member(writer, "protocol", std::string_view(is_http ? "http" : "grpc"));
    const auto text = [&](std::string_view name, std::string_view value) {
      write_member(writer, name, std::string_view(bounded(value)));
    };
    text("method", call_name(call));
    text("category", call.category_name);
    text("subject", call.subject);
    text("tenant", call.tenant);
    text("source", call.source);
    text("peer", call.peer);
    text("request_id", call.request_id);
    text("model", call.model);
    text("version", call.version);
    text("rule", call.rule);
    text("reason", call.reason);
    write_member(writer, "status", call.status);
    writer.Key("ms");
    writer.Double(static_cast<double>(call.duration_ns / kNsPerUs) / 1000.0);
  });
  return line_of(buffer);
}

std::string dropped_line(uint64_t count, int64_t wall_ns) {
  Buffer buffer;
  Writer writer(buffer);
  write_object(writer, [&] {
    write_member(writer, "time", std::string_view(write_rfc3339(wall_ns, SecondDigits::kMilliseconds)));
    write_member(writer, "dropped", count);
  });
  return line_of(buffer);
}

}  // namespace atl::audit
