#include "frontends/http/call_support.h"

#include <algorithm>

#include "atoll/request/request_marks.h"
#include "frontends/common/call/model_version.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/error_json.h"
#include "frontends/http/http_messages.h"

namespace atl::frontends::http {
namespace {

Status forward_headers(const HeaderForward& forward, const RequestHead& head, Request& request) noexcept {
  if (!forward.active()) return {};
  for (const HeaderField& field : head.fields) {
    if (!forward.matches(field.name)) continue;
    if (head.identity != nullptr && HeaderForward::is_credential(field.name)) continue;
    if (HeaderForward::reserved(field.name)) {
      return Status(Code::kInvalidArgument, frontends::messages::reserved_header(field.name));
    }
    // A header takes the place of a parameter of the same name.
    auto* same = std::find_if(request.parameters.begin(), request.parameters.end(),
                              [&](const Parameter& known) { return known.key == field.name; });
    Parameter& parameter = same != request.parameters.end() ? *same : request.add_parameter();
    parameter.key = request.arena().copy_text(field.name);
    parameter.type = ParameterType::kString;
    parameter.text = request.arena().copy_text(field.value);
    mark_forwarded_header(parameter);
  }
  return {};
}

Status read_tenant(const TenantHeader& tenant, const RequestHead& head, Request& request) noexcept {
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

bool is_number(std::string_view version) noexcept {
  return !version.empty() &&
         std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Null: it is not traced.
Trace* start_trace(const HttpContext& frontend, const ModelInfo& model, std::string_view request_id,
                   const RequestHead& head) noexcept {
  auto tracing = frontend.server.tracing->hold();  // the trace keeps its service by itself
  if (!tracing || !tracing->active()) return nullptr;
  return tracing->start({model.name, model.version, request_id, head.traceparent, head.tracestate});
}

}  // namespace

void answer_error(Channel& channel, const Status& status, uint32_t retry_after_ms) noexcept {
  ReplyHead head{.http_status = http_status(status.code()), .content_type = kJsonType};
  if (status.message() == messages::kUnsupportedCompression)
    head.extra = "Accept-Encoding: gzip, deflate\r\n";
  head.retry_after_ms = retry_after_ms;
  channel.answer_text(head, error_json(client_text(status)));
}

Result<int64_t> route_version(const ServerAccess& server, const Route& route) noexcept {
  if (!route.has_version) return ModelCatalog::kLatest;
  if (is_number(route.version)) return parse_model_version(route.version);
  if (auto version = server.router->labelled(route.model, route.version)) return *version;
  return Status(Code::kInvalidArgument, frontends::messages::version_not_number(route.version));
}

Result<int64_t> hidden_version(const Route& route) noexcept {
  if (!route.has_version) return ModelCatalog::kLatest;
  if (is_number(route.version)) return parse_model_version(route.version);
  return Status(Code::kInvalidArgument, frontends::messages::version_not_number(route.version));
}

Status read_head(const HttpContext& frontend, const RequestHead& head, const ModelInfo& model,
                 Request& request) noexcept {
  ATOLL_RETURN_IF_ERROR(forward_headers(frontend.settings.forward, head, request));
  if (!head.caller.empty()) request.caller = request.arena().copy_text(head.caller);
  if (head.identity != nullptr) {
    request.tenant = request.arena().copy_text(head.identity->get().tenant());  // whatever the client says
  } else {
    ATOLL_RETURN_IF_ERROR(read_tenant(frontend.settings.tenant, head, request));
  }
  request.trace = start_trace(frontend, model, request.id, head);
  return {};
}

}  // namespace atl::frontends::http
