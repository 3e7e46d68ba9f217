#include "launchers/slurm/settings.h"

#include <string>

namespace atl::launchers {
namespace {

constexpr std::string_view kPlaces[] = {"bin", "repository", "host", "id", "pool", "instance", "key"};
constexpr std::string_view kAtoll =
    "{bin}/tritonserver --model-repository={repository} --model-control-mode=explicit "
    "--http-address={host} --http-port=0 --grpc-address={host} --grpc-port=0 --allow-metrics=false";

}  // namespace

void SlurmSettings::check(OptionCheck& check) {
  check_common(check, kPlaces);
  check.whole(read(check.options()));
}

Result<SlurmSettings> SlurmSettings::read(const Options& options) {
  SlurmSettings settings;
  ATOLL_RETURN_IF_ERROR(settings.read_common(options, kAtoll, kPlaces));
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
  return settings;
}

}  // namespace atl::launchers
