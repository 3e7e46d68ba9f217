/// Servers as processes of this machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/log.h"
#include "atoll/pools/launcher.h"
#include "launchers/common/server_log.h"
#include "launchers/process/child.h"
#include "launchers/process/machine_parts.h"
#include "launchers/process/memory_group.h"
#include "launchers/process/process_record.h"
#include "launchers/process/settings.h"

namespace atl::launchers {

/// Everything happens on one executor, which looks at all servers twenty times a second as long as there are any.
/// Each has a folder <state_directory>/<id> with its log and what finds it after a restart.
class ProcessLauncher final : public Launcher {
 public:
  /// \param programs  folder of this server's programs \param gate  whose passes servers hold that end with this one
  ProcessLauncher(ProcessSettings settings, std::string programs, Clock& clock, Log& log, Gate& gate)
      : settings_(std::move(settings)),
        programs_(std::move(programs)),
        clock_(clock),
        log_(log),
        gate_(gate),
        book_(settings_.machine),
        groups_(settings_.cgroup) {}
  ProcessLauncher(const ProcessLauncher&) = delete;
  ProcessLauncher& operator=(const ProcessLauncher&) = delete;
  virtual ~ProcessLauncher() = default;

  /// Finds the servers of an earlier process. \param is_alone  no other instance of the plugin starts servers at the same
  /// time, so what is half there is left over. Errors: INVALID_ARGUMENT the folder cannot be used; RESOURCE_EXHAUSTED no
  /// thread to be had. [control]
  Status start(ExecutorFactory& executors, bool is_alone = true);
  /// Servers that end with this one are told to; where only this plugin is replaced, none does. [control]
  void drain(bool server_ends);
  /// Kills those of them that have not ended; others stay. [control]
  void stop() noexcept;

  // --- Launcher ---
  void launch(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void adopt(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void end(std::string_view id) noexcept override;
  void forget(LauncherListener& listener) noexcept override;

 private:
  enum class State : uint8_t { kStarting, kRunning, kEnding };
  struct Server {
    Server(std::string folder_path, ProcessRecord of, ProcessHandle handle)
        : folder(std::move(folder_path)),
          record(std::move(of)),
          process(std::move(handle)),
          finder(folder + "/log") {}
    std::string folder;
    ProcessRecord record;
    ProcessHandle process;
    AddressFinder finder;
    std::string title;                     ///< "fraud-i0", for people; empty: nobody has asked for it
    LauncherListener* listener = nullptr;  ///< null: nobody listens
    State state = State::kStarting;
    int64_t no_grpc_ns = INT64_MAX;  ///< when it is taken for a server without gRPC
    int64_t kill_ns = INT64_MAX;     ///< when it has not ended by itself
    Pass pass;                       ///< of one that ends with this server
  };
  using Servers = std::map<std::string, Server, std::less<>>;

  template <class Work>
  void run(Work work);
  Status restore(bool is_alone);
  /// \returns whether it runs
  bool restore_server(const std::string& id);
  void remove_rest(const std::string& id) noexcept;
  void start_server(const ServerSpec& spec, LauncherListener& listener);
  Status try_start(const ServerSpec& spec, LauncherListener& listener);
  Result<Child> start_child(const ServerSpec& spec, const std::string& folder, ProcessRecord& record);
  Status let_begin(const ServerSpec& spec, const std::string& folder, ProcessRecord& record, Child child,
                   LauncherListener& listener);
  void adopt_server(const ServerSpec& spec, LauncherListener& listener);
  void end_server(Server& server);
  void report_running(const std::string& id, Server& server);
  void look();
  void look_soon();
  void look_at(const std::string& id, Server& server);
  void ended(const std::string& id);
  Pass pass_for_server();

  const ProcessSettings settings_;
  const std::string programs_;
  Clock& clock_;
  Log& log_;
  Gate& gate_;
  MachineBook book_;
  const MemoryGroups groups_;
  Servers servers_;
  bool looks_ = false;  ///< a look is due
  bool ends_ = false;   ///< its servers end with it
  SerialExecutorPtr executor_;
};

}  // namespace atl::launchers
