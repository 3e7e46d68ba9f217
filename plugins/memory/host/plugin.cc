/// memory/host: CPU memory.
#include "atoll/plugin.h"

#include "host_memory.h"

namespace atl::memory {
namespace {

class HostMemoryPlugin final : public Plugin {
 public:
  explicit HostMemoryPlugin(Host& host) : memory_(host.options().get_bytes("limit")) {}
  Memory& memory() noexcept { return memory_; }
  std::string holding() override {
    return memory_.used_bytes() == 0 ? std::string() : cat(memory_.used_bytes(), " bytes in use");
  }

 private:
  HostMemory memory_;
};

constexpr OptionTable kOptions{
    option_bytes("limit", "0").help("Most bytes in use at a time; 0: no limit."),
};

}  // namespace

ATOLL_PLUGIN(HostMemoryPlugin, {.name = "memory/host",
                                .version = "1.0.0",
                                .license = "Apache-2.0",
                                .help = "Gives out CPU memory, counted and limited.",
                                .provides = {provide<Memory, &HostMemoryPlugin::memory>()},
                                .options = kOptions});

}  // namespace atl::memory
