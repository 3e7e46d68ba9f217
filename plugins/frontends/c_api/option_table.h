/// The frontend's options as the kernel sees them.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::frontends::c_api {

inline constexpr OptionTable kOptions{
    option_string("server_name", "triton").help("Name of the server in its metadata."),
};

}  // namespace atl::frontends::c_api
