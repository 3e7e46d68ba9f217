/// What servers are told by variables of their environment, which other users of the machine cannot read.
#pragma once

#include <string>
#include <vector>

#include "atoll/pools/launcher.h"
#include "launchers/common/instance_command.h"

namespace atl::launchers {

/// "NAME=value" each, for a server that is an Atoll; others do not look at them. Links in its repository may lead into the sources, no
/// load brings files, and with a key it is closed: see kClosedCategories.
/// \param runtime  one that has {key} closes its server itself, by what else is on its command line
/// \param shared_memory  clients may register regions without the key
std::vector<std::string> server_environment(const ServerSpec& server, const InstanceCommand& runtime,
                                            bool shared_memory);

/// "NAME=value", null at the end: these, then this process's own but for its ATOLL__ variables, which are for its own
/// manifest. Valid as long as the texts.
std::vector<char*> with_own_environment(const std::vector<std::string>& added);

/// The calls that need the key, as `security/keys` and Triton name them.
inline constexpr std::string_view kClosedCategories = "model-repository,trace,logging";

}  // namespace atl::launchers
