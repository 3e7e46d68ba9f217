#include "launchers/common/command_settings.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "atoll/core/file_check.h"

namespace atl::launchers {

Result<const InstanceCommand*> CommandSettings::runtime(const std::string& name) const {
  const std::string& chosen = name.empty() ? default_runtime : name;
  const auto found = runtimes.find(chosen);
  if (found == runtimes.end())
    return invalid_argument("runtime '", chosen, "' is none of the launcher's option 'runtimes'");
  return &found->second;
}

Status CommandSettings::make_state_directory() const {
  std::error_code error;
  std::filesystem::create_directories(state_directory, error);
  if (error) return invalid_argument("option 'state_directory': ", state_directory, ": ", error.message());
  return {};
}

void CommandSettings::check_common(OptionCheck& check, PlaceNames known) {
  check_runtimes(check, known);
  const std::string& directory = check.options().get_string("state_directory");
  if (!directory.empty()) check.passes("state_directory", check_creatable_folder(directory));
}

Status CommandSettings::read_common(const Options& options, std::string_view atoll, PlaceNames known) {
  state_directory = options.get_string("state_directory");
  if (state_directory.empty()) return invalid_argument("option 'state_directory' is empty");
  state_directory = std::filesystem::absolute(state_directory).lexically_normal();
  Result<std::map<std::string, InstanceCommand>> read = read_runtimes(options, atoll, known);
  if (!read.ok()) return std::move(read).status();
  runtimes = std::move(read).value();
  default_runtime = options.get_string("default_runtime");
  shared_memory = options.get_bool("shared_memory");
  log_bytes_max = options.get_bytes("max_log_size");
  return {};
}

}  // namespace atl::launchers
