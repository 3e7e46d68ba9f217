/// Where the file of a plugin is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::runtime {

/// The path of "role/name": `file` if it is set, else the first ROLE/NAME.so in the search path.
/// Errors: INVALID_ARGUMENT a name that could leave the search path; NOT_FOUND with the folders searched, and
/// how to get the file where a text ROLE/NAME.missing stands in one of them: the first line of the first one,
/// at most 512 bytes. A build writes such texts for the plugins that it left out.
Result<std::string> find_plugin_file(std::string_view use, const std::string& file,
                                     const std::vector<std::string>& search_path);

}  // namespace atl::runtime
