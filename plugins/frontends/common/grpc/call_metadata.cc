#include "frontends/common/grpc/call_metadata.h"

#include <algorithm>

#include "atoll/request/request_marks.h"
#include "frontends/common/codec/wire_format.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

Status forward_header(std::string_view name, std::string_view value, Request& request) noexcept {
  if (HeaderForward::reserved(name)) return Status(Code::kInvalidArgument, messages::reserved_header(name));
  if (!is_utf8(value)) {
    if (name.ends_with("-bin")) return {};
    return invalid_argument("Header '", name, "' has a value that is not UTF-8 and cannot be forwarded.");
  }
  auto* parameter = std::find_if(request.parameters.begin(), request.parameters.end(),
                                 [name](const Parameter& other) { return other.key == name; });
  if (parameter == request.parameters.end()) parameter = &request.add_parameter();
  *parameter = {};
  parameter->key = request.arena().copy_text(name);
  parameter->text = request.arena().copy_text(value);
  mark_forwarded_header(*parameter);
  return {};
}

/// \param caller  null: callers are not known
Status forward_headers(const HeaderForward& forward, const CallMetadata& metadata, const Identity* caller,
                       Request& request) noexcept {
  if (!forward.active()) return {};
  Status status;
  metadata.for_each([&](std::string_view name, std::string_view value) {
    if (!status.ok() || !forward.matches(name)) return;
    if (caller != nullptr && HeaderForward::is_credential(name)) return;
    status = forward_header(name, value, request);
  });
  return status;
}

Status read_tenant(const TenantHeader& tenant, const CallMetadata& metadata, Request& request) noexcept {
  if (!tenant.active()) return {};
  std::string_view value;
  const size_t count = metadata.find(tenant.name(), {&value, 1});
  if (count == 0) return {};
  if (count > 1) return tenant.given_twice();
  request.tenant = request.arena().copy_text(value);
  return {};
}

/// Null: the request is not traced.
Trace* start_trace(const Followed<Tracing>& followed, const CallMetadata& metadata, std::string_view model,
                   int64_t version, std::string_view request_id) noexcept {
  if (!followed.is_present()) return nullptr;
  auto tracing = followed.hold();  // the trace keeps its service by itself
  if (!tracing || !tracing->active()) return nullptr;
  TraceStart start;
  start.model = model;
  start.version = version;
  start.request_id = request_id;
  start.traceparent = metadata.first("traceparent");
  start.tracestate = metadata.first("tracestate");
  return tracing->start(start);
}

}  // namespace

Status read_call_metadata(const GrpcCallContext& frontend, const CallMetadata& metadata,
                          const ModelInfo& model, const Identity* caller, Request& request) noexcept {
  ATOLL_RETURN_IF_ERROR(forward_headers(frontend.settings.header_forward, metadata, caller, request));
  if (caller != nullptr) {
    request.tenant = request.arena().copy_text(caller->tenant());  // whatever the client says
  } else {
    ATOLL_RETURN_IF_ERROR(read_tenant(frontend.settings.tenant, metadata, request));
  }
  request.trace = start_trace(*frontend.server.tracing, metadata, model.name, model.version, request.id);
  return {};
}

}  // namespace atl::frontends
