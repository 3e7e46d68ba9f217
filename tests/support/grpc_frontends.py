"""The plugins that serve gRPC."""

GRPC_FRONTENDS = ("frontends/grpc", "frontends/grpc_nghttp2")
