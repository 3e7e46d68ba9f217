#include "launchers/slurm/settings.h"

#include <filesystem>
#include <utility>

#include "atoll/core/file_check.h"

namespace atl::launchers {
namespace {

constexpr std::string_view kPlaces[] = {"bin", "repository", "host", "id", "pool", "instance", "key"};
constexpr std::string_view kAtoll =
    "{bin}/tritonserver --model-repository={repository} --model-control-mode=explicit "
    "--http-address={host} --http-port=0 --grpc-address={host} --grpc-port=0 --allow-metrics=false";

}  // namespace

void SlurmSettings::check(OptionCheck& check) {
  check_runtimes(check, kPlaces);
  const std::string& directory = check.options().get_string("state_directory");
  if (!directory.empty()) check.passes("state_directory", check_creatable_folder(directory));
  check.whole(read(check.options()));
}

Result<SlurmSettings> SlurmSettings::read(const Options& options) {
  SlurmSettings settings;
  settings.state_directory = options.get_string("state_directory");
  if (settings.state_directory.empty()) return invalid_argument("option 'state_directory' is empty");
  settings.state_directory = std::filesystem::absolute(settings.state_directory).lexically_normal();
  Result<std::map<std::string, InstanceCommand>> runtimes = read_runtimes(options, kAtoll, kPlaces);
  if (!runtimes.ok()) return std::move(runtimes).status();
  settings.runtimes = std::move(runtimes).value();
  settings.default_runtime = options.get_string("default_runtime");
  settings.shared_memory = options.get_bool("shared_memory");
  settings.sbatch_options = options.get_strings("sbatch_options");
  for (const std::string& option : settings.sbatch_options) {
    if (!option.starts_with('-'))
      return invalid_argument("option 'sbatch_options': '", option,
                              "', expected options such as --partition=gpu");
  }
  settings.on_node_address = options.get_string("address") == "node";
  settings.poll_interval_ns = options.get_duration_ns("poll_interval");
  settings.queue_timeout_ns = options.get_duration_ns("queue_timeout");
  settings.command_timeout_ns = options.get_duration_ns("command_timeout");
  settings.log_bytes_max = options.get_bytes("max_log_size");
  return settings;
}

}  // namespace atl::launchers
