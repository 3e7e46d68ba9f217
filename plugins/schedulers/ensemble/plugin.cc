/// schedulers/ensemble: models made of models.
#include "atoll/core/plugin.h"

#include "schedulers/ensemble/ensemble_provider.h"

namespace atl::ensemble {
namespace {

constexpr OptionTable kOptions{
    option_int("max_queue_size", 65536)
        .range(0, 1000000000)
        .help("Most requests that may wait for their turn in one ensemble; further ones are refused as "
              "UNAVAILABLE. 0: any number."),
    option_bytes("tensor_memory", "1GiB")
        .help("Most memory of tensors between the steps of one ensemble; requests wait for it, and an "
              "output that does not fit fails its request. 0: no limit."),
    option_bytes("kept_memory", "64MiB")
        .help("Memory of such tensors that all ensembles together keep for the next ones. 0: none."),
};

class EnsembleSchedulerPlugin final : public Plugin {
 public:
  explicit EnsembleSchedulerPlugin(Host& host)
      : pool_(host.options().get_bytes("kept_memory")), memory_(host, 0), provider_(settings_from(host)) {}

  Status start() override { return memory_.open(); }
  void stop() override { memory_.close(); }
  EnsembleProvider& provider() noexcept { return provider_; }

 private:
  EnsembleSettings settings_from(Host& host) noexcept {
    EnsembleSettings settings;
    settings.queue_size_max = static_cast<uint64_t>(host.options().get_int("max_queue_size"));
    settings.tensor_memory_bytes = host.options().get_bytes("tensor_memory");
    settings.pool = &pool_;
    settings.memory = &memory_;
    return settings;
  }

  BlockPool pool_;
  schedulers::StateMemory memory_;
  EnsembleProvider provider_;
};

}  // namespace

ATOLL_PLUGIN(
    EnsembleSchedulerPlugin,
    {.name = "schedulers/ensemble",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Executes requests of ensembles: the steps of ensemble_scheduling, each as soon as its inputs "
             "are there.",
     .provides = {provide<SchedulerProvider, &EnsembleSchedulerPlugin::provider>()},
     .needs = {many<Memory>()},
     .options = kOptions});

}  // namespace atl::ensemble
