/// launchers/slurm: servers of pools as jobs of a cluster.
#include "atoll/core/plugin.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "launchers/slurm/option_table.h"
#include "launchers/slurm/slurm_launcher.h"

namespace atl::launchers {
namespace {

class SlurmLauncherPlugin final : public Plugin {
 public:
  explicit SlurmLauncherPlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<SlurmSettings> settings = SlurmSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    launcher_.emplace(std::move(settings).value(), program.parent_path(), host_.clock(), host_.log());
    return {};
  }
  Status start() override { return launcher_->start(host_.executors()); }
  void stop() override { launcher_->stop(); }
  Launcher& launcher() noexcept { return *launcher_; }

 private:
  Host& host_;
  std::optional<SlurmLauncher> launcher_;
};

}  // namespace

ATOLL_PLUGIN(
    SlurmLauncherPlugin,
    {.name = "launchers/slurm",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Starts the servers of pools as jobs of a Slurm cluster, with CPU cores, GPUs and memory, and finds "
         "them again after a restart.",
     .flags = ATOLL_PLUGIN_UNTRIED,  // it starts and ends servers
     .provides = {provide<Launcher, &SlurmLauncherPlugin::launcher>()},
     .options = kSlurmOptions,
     .check = &SlurmSettings::check});

}  // namespace atl::launchers
