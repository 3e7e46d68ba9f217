/// Codes of gRPC that the transport gives by itself.
#pragma once

namespace atl::frontends::grpc_nghttp2 {

inline constexpr int kGrpcUnknown = 2;
inline constexpr int kGrpcDeadlineExceeded = 4;
inline constexpr int kGrpcResourceExhausted = 8;
inline constexpr int kGrpcUnimplemented = 12;
inline constexpr int kGrpcInternal = 13;

}  // namespace atl::frontends::grpc_nghttp2
