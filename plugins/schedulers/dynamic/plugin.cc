/// schedulers/dynamic: requests that wait together are executed together.
#include "atoll/core/plugin.h"

#include <string>

#include "schedulers/common/sequence/hold_variable.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::schedulers {
namespace {

DynamicSettings settings_from(Host& host) {
  const Options& options = host.options();
  DynamicSettings settings;
  settings.queue_size_max = static_cast<uint64_t>(options.get_int("max_queue_size"));
  settings.backend_directory = options.get_string("backend_directory");
  settings.strategy_library = strategy_library_path();
  settings.hold_until = requests_to_hold(kHoldVariable, host.log());
  settings.dispatcher.light_execution_ns = options.get_duration_ns("light_execution");
  return settings;
}

class DynamicSchedulerPlugin final : public Plugin {
 public:
  explicit DynamicSchedulerPlugin(Host& host) : provider_(settings_from(host), host.log()) {}
  DynamicProvider& provider() noexcept { return provider_; }

 private:
  DynamicProvider provider_;
};

constexpr OptionTable kOptions{
    option_int("max_queue_size", 65536)
        .range(0, 1000000000)
        .help("Most requests that may wait for one model version, in all priority levels together, beside "
              "the limits of its configuration; further ones are refused as UNAVAILABLE. 0: any number."),
    option_duration("light_execution", "100us")
        .range("0us", "1s")
        .help("Instances whose recent executions were mostly shorter run on the request's thread, "
              "which saves a thread switch; 0us: never."),
    option_string("backend_directory", "")
        .help("Folder with a folder for each backend, where batchstrategy.so is looked for if neither the "
              "model nor its version has one. Empty: nowhere."),
};

}  // namespace

ATOLL_PLUGIN(DynamicSchedulerPlugin,
             {.name = "schedulers/dynamic",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Executes requests of a model in batches, as dynamic_batching says.",
              .provides = {provide<SchedulerProvider, &DynamicSchedulerPlugin::provider>().minor(
                               SchedulerProvider::kOperatedMinor),
                           provide<MetricSource, &DynamicSchedulerPlugin::provider>()},
              .options = kOptions});

}  // namespace atl::schedulers
