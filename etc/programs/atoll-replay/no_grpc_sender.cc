// For a machine without gRPC's library.
#include "grpc_sender.h"

namespace atl::replay {

std::unique_ptr<Sender> make_grpc_sender(ReplayTarget) { return nullptr; }

}  // namespace atl::replay
