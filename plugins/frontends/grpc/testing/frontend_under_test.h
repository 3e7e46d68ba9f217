/// This frontend, for the tests that hold for every gRPC frontend (frontends/common/grpc/testing).
#pragma once

#include "frontends/grpc/frontend.h"
#include "frontends/grpc/option_table.h"

namespace atl::frontends::grpc_cases {

using GrpcFrontend = grpc_frontend::GrpcFrontend;
inline constexpr const auto& kOptions = grpc_frontend::kOptions;
/// Whether HTTP/2 is that of the gRPC library.
inline constexpr bool kIsGrpcLibrary = true;

}  // namespace atl::frontends::grpc_cases
