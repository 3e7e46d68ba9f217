/// The plugin's options as the kernel sees them.
#pragma once

#include "atoll/abi/plugin.h"

namespace atl::routing {

inline constexpr atoll_option_v1 kOptions[] = {
    {"labels", ATOLL_OPTION_STRING_MAP, 0, "{}", nullptr, nullptr, nullptr,
     "Names for versions, \"<model>.<label>\" = \"<version>\"; clients write a label where a version is "
     "expected."},
    {"weights", ATOLL_OPTION_STRING_MAP, 0, "{}", nullptr, nullptr, nullptr,
     "How requests that name no version are shared out, \"<model>.<label or version>\" = \"<weight>\"; "
     "weights from 0 to 1000000. A model without weights answers with its highest version."},
    {"shadows", ATOLL_OPTION_STRING_MAP, 0, "{}", nullptr, nullptr, nullptr,
     "Versions that get copies of requests to others, \"<model>.<label or version>\" = \"<share>\"; shares "
     "from 0 to 1. What they answer is dropped."},
    {"max_shadow_requests", ATOLL_OPTION_INT, 0, "16", "1", "4096", nullptr,
     "Copies of requests in flight at most, for each shadow version; further ones are not made."},
    {"max_shadow_bytes", ATOLL_OPTION_BYTES, 0, "64MiB", "1KiB", "64GiB", nullptr,
     "Memory for the tensors of all copies together; copies that find none left are not made."},
    {"seed", ATOLL_OPTION_INT, 0, "0", "0", nullptr, nullptr,
     "Of the random choices, for repeatable tests; 0: another one at each start."},
};

}  // namespace atl::routing
