// The plugin "models/catalog": provides the model catalog.
#include "atoll/core/plugin.h"

#include "atoll/core/fault_notes.h"
#include "atoll/memory/memory.h"
#include "atoll/memory/request_memory.h"
#include "atoll/models/repository_agents.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request_admission.h"
#include "atoll/request/request_observer.h"
#include "models/catalog/catalog_plugin.h"

namespace atl::models {
namespace {

constexpr OptionTable kOptions{
    option_bool("strict_readiness", true)
        .help("The server is ready only while no model has failed and all instances of READY models "
              "can serve."),
    option_bool("auto_complete_config", true)
        .help("Whether config.pbtxt may be missing or incomplete and backends fill it in from the model's "
              "files."),
    option_bool("namespacing", false)
        .help("Whether models of the same name in several repositories are served side by side; to be set in "
              "the repository's plugin, too."),
    option_int("default_max_batch_size", 4)
        .range(0, 2147483647)
        .help("The batch size, in requests' items, that backends give a model that can batch and does not "
              "say how much."),
    option_int("load_retry_count", 0)
        .range(0, 100)
        .help("How many more times a version that failed to load is tried."),
    option_duration("warmup_timeout", "10m")
        .range("0s", "24h")
        .help("How long a backend may take to answer one execution of a warm-up sample; then the load fails, "
              "and the version stays in memory until it has answered. 0s: for ever."),
    option_duration("sequence_drain", "20s")
        .range("0s", "24h")
        .help("How long a replaced or unloaded version continues its open sequences; then they are "
              "ended. Keep it below [atoll] drain_timeout. 0s: they end at once."),
    option_string_map("host_policies")
        .help("Where instances run, \"<policy>.cpu-cores\" = \"0-3,8\" and \"<policy>.numa-node\" = \"0\". "
              "Instances that name no policy have 'cpu', 'gpu_<id>' or 'model', by their kind."),
    option_string_map("gpu_load_limit")
        .help(
            "How much of a GPU's memory may be in use, by whomever, after an instance was made there, \"<gpu>\" = "
            "\"<fraction>\"; where it is more, the load fails."),
    option_string_map("backend_settings")
        .help("Settings handed to backends, \"<backend>.<setting>\" = \"<value>\"; a key without a dot goes "
              "to all."),
};

}  // namespace

ATOLL_PLUGIN(CatalogPlugin,
             {.name = "models/catalog",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "Loads, serves and unloads models.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .provides = {provide<ModelCatalog, &CatalogPlugin::catalog>().minor(4),
                           provide<ModelQueues, &CatalogPlugin::queues>(),
                           provide<Startup, &CatalogPlugin::startup>(), provide<OptionsFollower>()},
              .needs = {need<Repository>().minor(4), need<ModelConfigs>().minor(2), many<Backend>(),
                        many<SchedulerProvider>(), many<Memory>(), many<RequestAdmission>(),
                        many<RequestObserver>(), optional<ResponseCache>(), many<ExecutionAdmission>(),
                        optional<FaultNotes>(), optional<RequestMemory>(), optional<RepositoryAgents>(),
                        optional<RepositoryPaths>()},
              .options = kOptions,
              .check = &CatalogPlugin::check});

}  // namespace atl::models
