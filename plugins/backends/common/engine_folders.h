/// Where an installation has a library that a backend opens with its first model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::backends {

/// PREFIX/lib/atoll/engines/NAME: first for the PREFIX of the plugin's file, then for the program's, if that is another one. A
/// plugin's file may lie elsewhere than its server, which is then the installation. The folders need not be there.
/// \param own_file  of the plugin: PREFIX/lib/atoll/plugins/ROLE/NAME.so, absolute; empty: only the program's counts
std::vector<std::string> engine_folders(std::string_view name, const std::string& own_file);

}  // namespace atl::backends
