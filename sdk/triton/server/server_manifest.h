/// The manifest that a program's options make.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "atoll/core/status.h"
#include "atoll/triton/server_options.h"

namespace atl::triton {

/// Keys of a manifest with their values in TOML. What an option asks of memory and devices that this server does not have
/// is left out. \param plugins  the folder whose plugins are used, those that need not be there as far as they are
/// Errors: INVALID_ARGUMENT what cannot be an option's value; UNIMPLEMENTED a response cache that there is not.
Result<std::map<std::string, std::string>> manifest_of(const TRITONSERVER_ServerOptions& options,
                                                       const std::filesystem::path& plugins);

/// A flat object of texts, numbers and booleans, as the settings of a cache are: by name, each as text. Errors:
/// INVALID_ARGUMENT
Result<std::map<std::string, std::string>> read_flat_json(std::string_view json);

}  // namespace atl::triton
