/// The frontend's options as the kernel sees them.
#pragma once

#include "frontends/common/grpc/option_table.h"

namespace atl::frontends::grpc_frontend {

inline constexpr OptionTable kOptions = grpc_options();

}  // namespace atl::frontends::grpc_frontend
