/// Servers as jobs of Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/pools/launcher.h"
#include "launchers/common/server_log.h"
#include "launchers/slurm/settings.h"
#include "launchers/slurm/slurm_jobs.h"

namespace atl::launchers {

/// A server is known to Slurm by its job's name, so nothing else has to be kept. Slurm's programs are run one after the other on a
/// thread of this, which may wait for them as long as Slurm is away; nobody else waits.
class SlurmLauncher final : public Launcher {
 public:
  /// \param programs  folder of this server's programs
  SlurmLauncher(SlurmSettings settings, std::string programs, Clock& clock, Log& log)
      : settings_(std::move(settings)), programs_(std::move(programs)), clock_(clock), log_(log) {}
  SlurmLauncher(const SlurmLauncher&) = delete;
  SlurmLauncher& operator=(const SlurmLauncher&) = delete;
  virtual ~SlurmLauncher() = default;

  /// Errors: INVALID_ARGUMENT the folder cannot be used; RESOURCE_EXHAUSTED no thread to be had. Whether Slurm is there is not
  /// looked at: it may come. [control]
  Status start(ExecutorFactory& executors);
  /// Jobs stay. [control]
  void stop() noexcept;

  // --- Launcher ---
  void launch(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void adopt(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void end(std::string_view id) noexcept override;
  void forget(LauncherListener& listener) noexcept override;

 private:
  struct Server {
    Server(ServerSpec of, std::string folder_path)
        : spec(std::move(of)), folder(std::move(folder_path)), finder(folder + "/log") {}
    ServerSpec spec;
    std::string folder;
    AddressFinder finder;
    bool is_submitted = false;       ///< Slurm has said that it has it
    bool is_adopted = false;         ///< by nobody of this process
    bool is_running = false;         ///< and its listener knows
    bool is_ending = false;          ///< it is cancelled
    Status ending_because;           ///< of one that nobody has asked to end
    int64_t waits_since_ns = 0;      ///< for nodes
    int64_t no_grpc_ns = INT64_MAX;  ///< when it is taken for a server without gRPC
  };
  using Servers = std::map<std::string, Server, std::less<>>;

  template <class Work>
  void run(Work work);
  /// Tells whoever listens to it. Under the mutex, so that forget() is sure.
  template <class Call>
  void notify(const std::string& id, Call call);
  void take(const ServerSpec& spec, LauncherListener& listener, bool adopted);
  Status submit(Server& server);
  void cancel(const Server& server);
  std::vector<std::string> sbatch_words(const Server& server) const;
  void ended(Servers::iterator server, Status reason);
  void look_at(Servers::iterator server, const Job* job);
  void look_for_address(Server& server);
  void look();
  void look_again(int64_t time_ns);
  void note_engine(const Status& status);

  const SlurmSettings settings_;
  const std::string programs_;
  Clock& clock_;
  Log& log_;
  Servers servers_;       ///< the executor's
  bool is_away_ = false;  ///< Slurm, when it was asked last
  TimerId look_timer_ = 0;
  std::mutex mutex_;  ///< guards what follows, and is held while listeners are called
  std::map<std::string, LauncherListener*, std::less<>> listeners_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::launchers
