/// What a call carries beside its messages: deadline and metadata.
#pragma once

#include <grpcpp/server_context.h>

#include <string_view>

#include "atoll/clock.h"
#include "atoll/model.h"
#include "frontends/grpc/grpc_context.h"

namespace atl::frontends::grpc_frontend {

/// In the time of `clock`; 0: none, or further away than a server lives.
int64_t deadline_ns(const grpc::ServerContext& context, const Clock& clock) noexcept;

/// The first value under a name; empty if there is none. Lives as long as the context. [queue's thread]
std::string_view metadata_value(const grpc::ServerContext& context, std::string_view name) noexcept;

/// What a request has from its call's metadata. [queue's thread]
/// - The metadata that matches becomes parameters, in place of those of the same names; of several values the
///   last counts. Binary metadata ("-bin") that is no text is left out.
/// - The tenant, and a trace if the request is to have one.
/// Errors: INVALID_ARGUMENT a reserved name, a value that is not UTF-8, several tenants.
Status read_metadata(const GrpcContext& frontend, const grpc::ServerContext& context, const ModelInfo& model,
                     Request& request) noexcept;

/// Tells the client when to try again: `retry-after` in seconds, as over HTTP, and `grpc-retry-pushback-ms`,
/// which the retry policy of gRPC clients obeys. Before the call is finished. \param retry_after_ms  0:
/// nothing
void add_retry_after(grpc::ServerContext& context, uint32_t retry_after_ms);

}  // namespace atl::frontends::grpc_frontend
