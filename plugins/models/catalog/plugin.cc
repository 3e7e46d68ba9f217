// The plugin "models/catalog": provides the model catalog.
#include "atoll/plugin.h"

#include "catalog_plugin.h"

namespace atl::models {
namespace {

constexpr atoll_provided_v1 kProvides[] = {{"atoll.model_catalog/1", 1, 0}};

constexpr atoll_need_v1 kNeeds[] = {
    {"atoll.repository/1", 1, 0},
    {"atoll.model_config/1", 1, 0},
    {"atoll.backend/1", 0, ATOLL_NEED_MANY},
    {"atoll.scheduler/1", 0, ATOLL_NEED_MANY},
    {"atoll.memory/1", 0, ATOLL_NEED_MANY},
    {"atoll.request_admission/1", 0, ATOLL_NEED_MANY},
    {"atoll.execution_admission/1", 0, ATOLL_NEED_MANY},
};

constexpr atoll_option_v1 kOptions[] = {
    {"strict_readiness", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr,
     "Whether the server is ready only while no version has failed and those that serve can."},
    {"auto_complete_config", ATOLL_OPTION_BOOL, 0, "true", nullptr, nullptr, nullptr,
     "Whether config.pbtxt may be missing or incomplete and backends fill it in from the model's files."},
    {"namespacing", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether models of the same name in several repositories are served side by side; to be set in the "
     "repository's plugin, too."},
    {"default_max_batch_size", ATOLL_OPTION_INT, 0, "4", "0", "2147483647", nullptr,
     "The batch size, in requests' items, that backends give a model that can batch and does not say how "
     "much."},
    {"load_retry_count", ATOLL_OPTION_INT, 0, "0", "0", "100", nullptr,
     "How many more times a version that failed to load is tried."},
    {"host_policies", ATOLL_OPTION_STRING_MAP, 0, "{}", nullptr, nullptr, nullptr,
     "Where instances run, \"<policy>.cpu-cores\" = \"0-3,8\" and \"<policy>.numa-node\" = \"0\". Instances "
     "that "
     "name no policy have 'cpu', 'gpu_<id>' or 'model', by their kind."},
    {"backend_settings", ATOLL_OPTION_STRING_MAP, 0, "{}", nullptr, nullptr, nullptr,
     "Settings handed to backends, \"<backend>.<setting>\" = \"<value>\"; a key without a dot goes to all."},
};

}  // namespace
}  // namespace atl::models

ATOLL_PLUGIN(atl::models::CatalogPlugin, {.name = "models/catalog",
                                          .version = "0.1.0",
                                          .license = "Apache-2.0",
                                          .help = "Loads, serves and unloads models.",
                                          .flags = ATOLL_PLUGIN_SINGLETON,
                                          .provides = atl::models::kProvides,
                                          .needs = atl::models::kNeeds,
                                          .options = atl::models::kOptions});
