/// What a call carries beside its messages: deadline and metadata.
#pragma once

#include <grpcpp/server_context.h>

#include <string_view>

#include "atoll/core/clock.h"
#include "frontends/common/grpc/settings.h"

namespace atl::frontends::grpc_frontend {

/// In the time of `clock`; 0: none, or further away than a server lives.
int64_t deadline_ns(const grpc::ServerContext& context, const Clock& clock) noexcept;

/// The first value under a name; empty if there is none. Lives as long as the context. [queue's thread]
std::string_view metadata_value(const grpc::ServerContext& context, std::string_view name) noexcept;

/// Tells the client when to try again, see retry_metadata(). Before the call is finished. \param retry_after_ms  0:
/// nothing
void add_retry_after(grpc::ServerContext& context, uint32_t retry_after_ms);

/// Before the first message of an inference call, or of another plugin's, is written.
void set_compression(const GrpcSettings& settings, grpc::ServerContext* context);

}  // namespace atl::frontends::grpc_frontend
