/// This frontend, for the tests that hold for every gRPC frontend (frontends/common/grpc/testing).
#pragma once

#include "frontends/grpc_nghttp2/frontend.h"
#include "frontends/grpc_nghttp2/option_table.h"

namespace atl::frontends::grpc_cases {

using GrpcFrontend = grpc_nghttp2::Nghttp2Frontend;
inline constexpr const auto& kOptions = grpc_nghttp2::kOptions;
/// Whether HTTP/2 is that of the gRPC library.
inline constexpr bool kIsGrpcLibrary = false;

}  // namespace atl::frontends::grpc_cases
