#include "call_support.h"

#include <algorithm>

#include "codec/error_json.h"
#include "common/error_map.h"
#include "common/model_version.h"
#include "common/wire_messages.h"
#include "http_messages.h"

namespace atl::frontends::http {

Result<int64_t> route_version(const ServerAccess& server, const Route& route) noexcept {
  if (!route.has_version) return ModelCatalog::kLatest;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!route.version.empty() && std::all_of(route.version.begin(), route.version.end(), is_digit)) {
    return parse_model_version(route.version);
  }
  if (auto version = server.router->labelled(route.model, route.version)) return *version;
  return Status(Code::kInvalidArgument, frontends::messages::version_not_number(route.version));
}

void answer_error(Channel& channel, const Status& status, uint32_t retry_after_ms) noexcept {
  ReplyHead head{.http_status = http_status(status.code()), .content_type = kJsonType};
  if (status.message() == messages::kUnsupportedCompression)
    head.extra = "Accept-Encoding: gzip, deflate\r\n";
  head.retry_after_ms = retry_after_ms;
  channel.answer_text(head, error_json(client_text(status)));
}

Status read_tenant(const TenantHeader& tenant, const RequestHead& head, Request& request) noexcept {
  if (!head.caller.empty()) request.caller = request.arena().copy_text(head.caller);
  if (!tenant.active()) return {};
  bool found = false;
  for (const HeaderField& field : head.fields) {
    if (!tenant.is(field.name)) continue;
    if (found) return tenant.given_twice();
    found = true;
    request.tenant = request.arena().copy_text(field.value);
  }
  return {};
}

Trace* start_trace(Backplane& backplane, const ModelInfo& model, std::string_view request_id,
                   const RequestHead& head) noexcept {
  auto tracing = backplane.server.tracing->hold();  // the trace keeps its service by itself
  if (!tracing || !tracing->active()) return nullptr;
  return tracing->start({model.name, model.version, request_id, head.traceparent, head.tracestate});
}

}  // namespace atl::frontends::http
