/// The plugin's options as the kernel sees them.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::routing {

inline constexpr OptionTable kOptions{
    option_string_map("labels").help("Names for versions, \"<model>.<label>\" = <version>; clients write "
                                     "a label where a version is expected."),
    option_string_map("weights").help(
        "How requests that name no version are shared out, \"<model>.<label or version>\" = <weight>; "
        "weights from 0 to 1000000. A model without weights answers with its highest version."),
    option_string_map("shadows").help(
        "Versions that get copies of requests to others, \"<model>.<label or version>\" = <share>; "
        "shares from 0 to 1. What they answer is dropped."),
    option_int("max_shadow_requests", 16)
        .range(1, 4096)
        .help("Copies of requests in flight at most, for each shadow version; further ones are not made."),
    option_bytes("max_shadow_bytes", "64MiB")
        .range("1KiB", "64GiB")
        .help("Memory for the tensors of all copies together; copies that find none left are not made."),
    option_int("seed", 0).at_least(0).help(
        "Seed of random choices, for repeatable tests; 0: a new one at each start."),
};

}  // namespace atl::routing
