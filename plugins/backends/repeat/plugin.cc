/// backends/repeat: decoupled models that answer once for each element of their input.
#include "atoll/plugin.h"

#include "repeat_backend.h"

namespace atl::repeat {
namespace {

class RepeatPlugin final : public Plugin {
 public:
  explicit RepeatPlugin(Host& host) : backend_(host.clock(), host.executors()) {}
  void* query(std::string_view id) override { return provide<Backend>(&backend_, id); }

 private:
  RepeatBackend backend_;
};

constexpr atoll_provided_v1 kProvides[] = {{Backend::kInterfaceId.data(), 0, 0}};

}  // namespace

ATOLL_PLUGIN(RepeatPlugin, {.name = "backends/repeat",
                            .version = "1.0.0",
                            .license = "Apache-2.0",
                            .help = "Runs decoupled models that answer once for each element of their input.",
                            .provides = kProvides});

}  // namespace atl::repeat
