/// schedulers/default: one request, one execution.
#include "atoll/core/plugin.h"

#include "atoll/core/usable_cpus.h"
#include "schedulers/default/default_provider.h"

namespace atl::schedulers {
namespace {

constexpr int64_t kOneCpuTimes = 10;

DefaultSettings settings_from(const Options& options) {
  DefaultSettings settings;
  settings.queue_size_max = static_cast<uint64_t>(options.get_int("max_queue_size"));
  // Where there is one CPU, a thread of the instance's own runs nothing beside the others: it only takes
  // turns with them, at the price of the switches.
  const int64_t times = usable_cpus() == 1 ? kOneCpuTimes : 1;
  settings.dispatcher.light_execution_ns = options.get_duration_ns("light_execution") * times;
  return settings;
}

class DefaultSchedulerPlugin final : public Plugin {
 public:
  explicit DefaultSchedulerPlugin(Host& host) : provider_(settings_from(host.options())) {}
  SchedulerProvider& provider() noexcept { return provider_; }

 private:
  DefaultProvider provider_;
};

constexpr OptionTable kOptions{
    option_int("max_queue_size", 65536)
        .range(0, 1000000000)
        .help("Most requests that may wait for one model version; further ones are refused as UNAVAILABLE. "
              "0: any number."),
    option_duration("light_execution", "100us")
        .range("0us", "1s")
        .help("Instances whose recent executions were mostly shorter run on the request's thread, "
              "which saves a thread switch. "
              "A process that may use one CPU takes ten times this. 0us: never."),
};

}  // namespace

ATOLL_PLUGIN(DefaultSchedulerPlugin,
             {.name = "schedulers/default",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Runs every request of a model as an execution of its own.",
              .provides = {provide<SchedulerProvider, &DefaultSchedulerPlugin::provider>().minor(
                  SchedulerProvider::kOperatedMinor)},
              .options = kOptions});

}  // namespace atl::schedulers
