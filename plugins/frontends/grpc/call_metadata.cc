#include "frontends/grpc/call_metadata.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "frontends/common/wire_format.h"
#include "frontends/common/wire_messages.h"

namespace atl::frontends::grpc_frontend {
namespace {

std::string_view view(grpc::string_ref text) noexcept { return {text.data(), text.size()}; }

Status forward_headers(const HeaderForward& forward, const grpc::ServerContext& context,
                       Request& request) noexcept {
  if (!forward.active()) return {};
  for (const auto& [key, value] : context.client_metadata()) {
    const std::string_view name = view(key);
    if (!forward.matches(name)) continue;
    if (HeaderForward::reserved(name)) {
      return Status(Code::kInvalidArgument, messages::reserved_header(name));
    }
    if (!is_utf8(view(value))) {
      if (name.ends_with("-bin")) continue;
      return invalid_argument("Header '", name, "' has a value that is not UTF-8 and cannot be forwarded.");
    }
    auto* parameter = std::find_if(request.parameters.begin(), request.parameters.end(),
                                   [name](const Parameter& other) { return other.key == name; });
    if (parameter == request.parameters.end()) parameter = &request.add_parameter();
    *parameter = {};
    parameter->key = request.arena().copy_text(name);
    parameter->text = request.arena().copy_text(view(value));
  }
  return {};
}

Status read_tenant(const TenantHeader& tenant, const grpc::ServerContext& context,
                   Request& request) noexcept {
  if (!tenant.active()) return {};
  const std::string& name = tenant.name();
  auto [begin, end] = context.client_metadata().equal_range(grpc::string_ref(name.data(), name.size()));
  if (begin == end) return {};
  if (std::next(begin) != end) return tenant.given_twice();
  request.tenant = request.arena().copy_text(view(begin->second));
  return {};
}

/// Null: the request is not traced.
Trace* start_trace(const Followed<Tracing>& followed, const grpc::ServerContext& context,
                   std::string_view model, int64_t version, std::string_view request_id) noexcept {
  auto tracing = followed.hold();  // the trace keeps its service by itself
  if (!tracing || !tracing->active()) return nullptr;
  TraceStart start;
  start.model = model;
  start.version = version;
  start.request_id = request_id;
  start.traceparent = metadata_value(context, "traceparent");
  start.tracestate = metadata_value(context, "tracestate");
  return tracing->start(start);
}

}  // namespace

int64_t deadline_ns(const grpc::ServerContext& context, const Clock& clock) noexcept {
  gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return 0;
  gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec > std::numeric_limits<int32_t>::max()) return 0;
  return clock.now_ns() + left.tv_sec * kNsPerSecond + left.tv_nsec;
}

std::string_view metadata_value(const grpc::ServerContext& context, std::string_view name) noexcept {
  const auto& metadata = context.client_metadata();
  auto found = metadata.find(grpc::string_ref(name.data(), name.size()));
  return found == metadata.end() ? std::string_view() : view(found->second);
}

Status read_metadata(const GrpcContext& frontend, const grpc::ServerContext& context, const ModelInfo& model,
                     Request& request) noexcept {
  ATOLL_RETURN_IF_ERROR(forward_headers(frontend.settings.header_forward, context, request));
  ATOLL_RETURN_IF_ERROR(read_tenant(frontend.settings.tenant, context, request));
  request.trace = start_trace(*frontend.server.tracing, context, model.name, model.version, request.id);
  return {};
}

void add_retry_after(grpc::ServerContext& context, uint32_t retry_after_ms) {
  if (retry_after_ms == 0) return;
  context.AddTrailingMetadata("retry-after", std::to_string((uint64_t{retry_after_ms} + 999) / 1000));
  context.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(retry_after_ms));
}

}  // namespace atl::frontends::grpc_frontend
