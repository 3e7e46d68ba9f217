/// Sends over gRPC.
#pragma once

#include <memory>

#include "sender.h"

namespace atl::replay {

/// Null: this program was built without gRPC.
std::unique_ptr<Sender> make_grpc_sender(ReplayTarget address);

}  // namespace atl::replay
