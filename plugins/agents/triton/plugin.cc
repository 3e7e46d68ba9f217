/// agents/triton: repository agents that are shared objects made for Triton.
#include "atoll/core/plugin.h"

#include "agents/triton/triton_agents.h"
#include "atoll/triton/host.h"

namespace atl::triton {
namespace {

class TritonAgentsPlugin final : public Plugin {
 public:
  explicit TritonAgentsPlugin(Host& host)
      : log_scope_(host.log()),
        agents_({host.options().get_strings("directories"), host.options().get_string("temporary_directory"),
                 host.options().get_bool("unload")},
                host.log()) {}

  RepositoryAgents& agents() noexcept { return agents_; }

 private:
  LogScope log_scope_;
  TritonAgents agents_;
};

constexpr OptionTable kOptions{
    option_string_list("directories")
        .help("Folders with a folder for each agent, where libtritonrepoagent_<name>.so is looked for."),
    option_string("temporary_directory", "")
        .help("Where agents that ask for a directory get one; empty: the system's temporary directory."),
    option_bool("unload", true)
        .help("Whether an agent's shared object is closed when no model uses it any more; if not, it stays "
              "mapped."),
};

}  // namespace

ATOLL_PLUGIN(TritonAgentsPlugin, {.name = "agents/triton",
                                  .version = "1.0.0",
                                  .license = "Apache-2.0",
                                  .help = "Has repository agents made for Triton check or prepare models.",
                                  .provides = {provide<RepositoryAgents, &TritonAgentsPlugin::agents>()},
                                  .options = kOptions});

}  // namespace atl::triton
