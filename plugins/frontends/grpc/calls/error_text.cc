#include "frontends/grpc/calls/error_text.h"

#include "frontends/common/codec/error_map.h"

namespace atl::frontends::grpc_frontend {

grpc::Status to_grpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(grpc_code(status.code())), shortened(client_text(status))};
}

}  // namespace atl::frontends::grpc_frontend
