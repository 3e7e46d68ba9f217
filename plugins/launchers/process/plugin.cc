/// launchers/process: servers of pools as processes of this machine.
#include "atoll/core/plugin.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "atoll/core/events.h"
#include "launchers/process/option_table.h"
#include "launchers/process/process_launcher.h"

namespace atl::launchers {
namespace {

class ProcessLauncherPlugin final : public Plugin {
 public:
  explicit ProcessLauncherPlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<ProcessSettings> settings = ProcessSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    launcher_.emplace(std::move(settings).value(), program.parent_path(), host_.clock(), host_.log(),
                      host_.gate());
    return {};
  }
  Status start() override {
    ATOLL_RETURN_IF_ERROR(server_state_changed_.open(host_.events()));
    return launcher_->start(host_.executors(), !host_.replaces_running_instance());
  }
  /// Once the news that the server ends, if it does, has come.
  void drain(int64_t) override {
    host_.post_control(make_task([this] { launcher_->drain(server_ends_); }));
  }
  void stop() override { launcher_->stop(); }
  std::string holding() override {
    const int64_t servers = host_.gate().count();
    return servers == 0 ? std::string() : cat(servers, " servers that end");
  }
  Launcher& launcher() noexcept { return *launcher_; }

 private:
  struct OnServerState {
    void operator()(const ServerStateChanged& event) const {
      *server_ends = event.state == ServerStateChanged::State::kDraining;
    }
    bool* server_ends;
  };

  Host& host_;
  bool server_ends_ = false;
  Subscription<ServerStateChanged, OnServerState> server_state_changed_{OnServerState{&server_ends_}};
  std::optional<ProcessLauncher> launcher_;
};

}  // namespace

ATOLL_PLUGIN(
    ProcessLauncherPlugin,
    {.name = "launchers/process",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Starts the servers of pools as processes of this machine, each with CPU cores, GPUs and memory of "
         "its own, and finds those that run again after a restart.",
     .flags = ATOLL_PLUGIN_UNTRIED,  // it starts and ends servers
     .provides = {provide<Launcher, &ProcessLauncherPlugin::launcher>()},
     .options = kProcessOptions,
     .check = &ProcessSettings::check});

}  // namespace atl::launchers
