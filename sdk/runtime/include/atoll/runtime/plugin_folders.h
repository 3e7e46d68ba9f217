/// What lies in the folders that plugins are searched in, without running any of it: for hints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::runtime {

/// "role/name" of every ROLE/NAME.so in the folders; ordered, each once.
std::vector<std::string> plugin_names(std::span<const std::string> folders);

/// Paths of their files, in the order of the folders.
std::vector<std::string> plugin_files(std::span<const std::string> folders);

/// ", did you mean 'backends/onnxruntime'?" for "backends/onnx", by the plugins in the folders and those of which
/// a text ROLE/NAME.missing there says how to get them; or empty.
std::string plugin_suggestion(std::string_view name, std::span<const std::string> folders);

/// What to add to the message about a plugin that could not be opened. Without a `file` it is the name of a plugin that was
/// probably meant. With a `file` that does not end in ".so" it says what the key `file` is, and names the plugin's own options whose
/// names end in "_file". Empty: nothing is to be added.
/// \param use, file  as the manifest has them; `file` may be empty
std::string plugin_hint(Code failure, std::string_view use, std::string_view file,
                        std::span<const std::string> folders);

/// Keys of the plugin's options, read from the descriptor in its file. Empty: the file cannot be read, or there are no options.
std::vector<std::string> option_keys(const std::string& path);

/// Ids of the interfaces that the plugin in this file provides, read from the descriptor that the file has.
/// Errors: NOT_FOUND, FAILED_PRECONDITION it is no plugin that this can read.
Result<std::vector<std::string>> provided_interfaces(const std::string& path);

/// Plugins in the folders that provide the interface: "control/none, control/poll"; empty: none was found.
std::string providers_text(std::string_view interface_id, std::span<const std::string> folders);

}  // namespace atl::runtime
