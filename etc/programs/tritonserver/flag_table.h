/// All flags, and --help.
#pragma once

#include <string>
#include <vector>

#include "flag.h"

namespace atl::tritonserver {

/// Every flag, those of one group together in the order of --help.
const std::vector<Flag>& flag_table();

/// "Usage: tritonserver [options]" and every flag with its values, meaning and keys of the manifest.
std::string usage();

}  // namespace atl::tritonserver
