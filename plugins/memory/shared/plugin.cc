// The plugin "memory/shared": memory that clients share with the server.
#include "shared_memory_plugin.h"

namespace atl::memory {
namespace {

constexpr atoll_provided_v1 kProvides[] = {{SharedMemory::kInterfaceId.data(), 0, 0},
                                           {MetricSource::kInterfaceId.data(), 0, 0}};

constexpr atoll_option_v1 kOptions[] = {
    {"allow_client_shm", ATOLL_OPTION_BOOL, 0, "false", nullptr, nullptr, nullptr,
     "Whether clients may register and unregister shared memory regions."},
    {"max_regions", ATOLL_OPTION_INT, 0, "1024", "1", "65536", nullptr,
     "Most regions that are registered or still in use at a time."},
    {"max_bytes", ATOLL_OPTION_BYTES, 0, "0", nullptr, nullptr, nullptr,
     "Most bytes of regions that are mapped at a time, counted in whole pages; 0: 16 TiB of address space."},
    {"allowed_owners", ATOLL_OPTION_STRING_LIST, 0, "[]", nullptr, nullptr, nullptr,
     "Names or numbers of the users whose objects may be registered; empty: every object that the server "
     "itself may open."},
    {"idle_timeout", ATOLL_OPTION_DURATION, 0, "0s", "0s", "87600h", nullptr,
     "A region that no request has used for this long is unregistered; 0s: never."},
};

}  // namespace

ATOLL_PLUGIN(SharedMemoryPlugin, {.name = "memory/shared",
                                  .version = "1.0.0",
                                  .license = "Apache-2.0",
                                  .help = "Maps shared memory that clients register for inputs and outputs.",
                                  .flags = ATOLL_PLUGIN_SINGLETON,
                                  .provides = kProvides,
                                  .options = kOptions});

}  // namespace atl::memory
