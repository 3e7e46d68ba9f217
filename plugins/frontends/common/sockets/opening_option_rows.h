/// The row of opening.h in the option tables of frontends.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::frontends::opening_rows {

inline constexpr Option kOpenAfterStartup =
    option_bool("open_after_startup", false)
        .help(
            "Whether clients are refused until every model of the start has been loaded or has failed, for probes that "
            "only try whether the port is open. The address is taken from the beginning in any case.");

}  // namespace atl::frontends::opening_rows
