/// backends/identity: models whose outputs are copies of their inputs.
#include "atoll/plugin.h"

#include "identity_backend.h"

namespace atl::identity {
namespace {

class IdentityPlugin final : public Plugin {
 public:
  explicit IdentityPlugin(Host& host) : backend_(host.clock()) {}
  void* query(std::string_view id) override { return provide<Backend>(&backend_, id); }

 private:
  IdentityBackend backend_;
};

constexpr atoll_provided_v1 kProvides[] = {{Backend::kInterfaceId.data(), 0, 0}};

}  // namespace

ATOLL_PLUGIN(IdentityPlugin, {.name = "backends/identity",
                              .version = "1.0.0",
                              .license = "Apache-2.0",
                              .help = "Runs models whose outputs are copies of their inputs.",
                              .provides = kProvides});

}  // namespace atl::identity
