/// backends/repeat: decoupled models that answer once for each element of their input.
#include "atoll/core/plugin.h"

#include "backends/repeat/repeat_backend.h"

namespace atl::repeat {
namespace {

class RepeatPlugin final : public Plugin {
 public:
  explicit RepeatPlugin(Host& host) : backend_(host.clock(), host.executors()) {}
  Backend& backend() noexcept { return backend_; }

 private:
  RepeatBackend backend_;
};

}  // namespace

ATOLL_PLUGIN(RepeatPlugin, {.name = "backends/repeat",
                            .version = "1.0.0",
                            .license = "Apache-2.0",
                            .help = "Runs decoupled models that answer once for each element of their input.",
                            .provides = {provide<Backend, &RepeatPlugin::backend>()}});

}  // namespace atl::repeat
