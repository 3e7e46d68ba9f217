/// backends/identity: models whose outputs are copies of their inputs.
#include "atoll/core/plugin.h"

#include "backends/identity/identity_backend.h"

namespace atl::identity {
namespace {

class IdentityPlugin final : public Plugin {
 public:
  explicit IdentityPlugin(Host& host) : backend_(host.clock()) {}
  Backend& backend() noexcept { return backend_; }

 private:
  IdentityBackend backend_;
};

}  // namespace

ATOLL_PLUGIN(IdentityPlugin, {.name = "backends/identity",
                              .version = "1.0.0",
                              .license = "Apache-2.0",
                              .help = "Runs models whose outputs are copies of their inputs.",
                              .provides = {provide<Backend, &IdentityPlugin::backend>()}});

}  // namespace atl::identity
