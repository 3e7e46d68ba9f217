/// Failures as gRPC carries them.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "atoll/status.h"

namespace atl::frontends::grpc_frontend {

/// What a status text may take in the trailers, where every byte that is not printable ASCII takes three.
/// Clients accept 8 KiB of trailers; a longer text would reach them as another error.
inline constexpr size_t kMaxStatusTextBytes = 4096;

/// The text, or as much of it as fits into the trailers, ending in " (shortened)".
std::string shortened(std::string_view text);

/// The text with every byte that is not UTF-8 replaced by '?': a text field of protobuf takes nothing else.
std::string as_utf8(std::string_view text);

grpc::Status to_grpc(const Status& status);

}  // namespace atl::frontends::grpc_frontend
