/// What a call carries beside its messages: deadline and metadata.
#pragma once

#include <grpcpp/server_context.h>

#include <string_view>

#include "atoll/clock.h"
#include "atoll/followed_service.h"
#include "atoll/request.h"
#include "atoll/tracing.h"
#include "common/header_forward.h"
#include "common/tenant_header.h"

namespace atl::frontends::grpc_frontend {

/// In the time of `clock`; 0: none, or further away than a server lives.
int64_t deadline_ns(const grpc::ServerContext& context, const Clock& clock) noexcept;

/// The first value under a name; empty if there is none. Lives as long as the context. [queue's thread]
std::string_view metadata_value(const grpc::ServerContext& context, std::string_view name) noexcept;

/// Adds the metadata that matches to the request's parameters, in place of a parameter of the same name; of
/// several values the last counts. Binary metadata ("-bin") that is no text is left out. [queue's thread]
/// Errors: INVALID_ARGUMENT a reserved name, a value that is not UTF-8.
Status forward_headers(const HeaderForward& forward, const grpc::ServerContext& context,
                       Request& request) noexcept;

/// The tenant that the call's metadata names. [queue's thread] Errors: INVALID_ARGUMENT several.
Status read_tenant(const TenantHeader& tenant, const grpc::ServerContext& context, Request& request) noexcept;

/// Tells the client when to try again: `retry-after` in seconds, as over HTTP, and `grpc-retry-pushback-ms`,
/// which the retry policy of gRPC clients obeys. Before the call is finished. \param retry_after_ms  0:
/// nothing
void add_retry_after(grpc::ServerContext& context, uint32_t retry_after_ms);

/// Null: the request is not traced. [queue's thread]
Trace* start_trace(const Followed<Tracing>& followed, const grpc::ServerContext& context,
                   std::string_view model, int64_t version, std::string_view request_id) noexcept;

}  // namespace atl::frontends::grpc_frontend
