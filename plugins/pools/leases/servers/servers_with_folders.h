/// Servers whose models are put into a directory of their own before they are asked to load them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/pools/launcher.h"
#include "pools/leases/servers/instance_models.h"
#include "pools/leases/servers/model_folders.h"

namespace atl::pools {

/// A launcher that makes a server's directory before it launches it, and removes it when the server has ended.
class FolderLauncher final : public Launcher, private LauncherListener {
 public:
  /// \param launcher  that starts them; all outlive this
  FolderLauncher(Launcher& launcher, const ModelFolders& folders) : launcher_(launcher), folders_(folders) {}
  FolderLauncher(const FolderLauncher&) = delete;
  FolderLauncher& operator=(const FolderLauncher&) = delete;
  virtual ~FolderLauncher() = default;

  void launch(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void adopt(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void end(std::string_view id) noexcept override { launcher_.end(id); }
  void forget(LauncherListener& listener) noexcept override;

 private:
  struct Known {
    LauncherListener* listener = nullptr;
    std::string repository;
  };
  Status remember(const ServerSpec& server, LauncherListener& listener);

  // --- what the launcher says ---
  void server_running(std::string_view id, const ServerAddress& address) noexcept override;
  void server_ended(std::string_view id, Status reason) noexcept override;

  Launcher& launcher_;
  const ModelFolders& folders_;
  std::mutex mutex_;  ///< guards what follows
  std::map<std::string, Known, std::less<>> known_;
};

/// A host that puts a model's files where the server finds them. What may be slow there is done on a thread of its own.
class FolderModelHost final : public InstanceModels {
 public:
  /// \param host  that talks to servers \param answers_on  where `done` is called \param files  the thread for files; goes before this
  FolderModelHost(InstanceModels& host, const ModelFolders& folders, SerialExecutor& answers_on,
                  SerialExecutor& files)
      : host_(host), folders_(folders), answers_on_(answers_on), files_(files) {}
  FolderModelHost(const FolderModelHost&) = delete;
  FolderModelHost& operator=(const FolderModelHost&) = delete;
  virtual ~FolderModelHost() = default;

  /// No model is put anywhere from now on. [the executor of answers]
  void stop() noexcept { is_stopped_ = true; }
  void check_ready(const ServerAddress& server, Done done) override {
    host_.check_ready(server, std::move(done));
  }
  void check_closed(const ServerAddress& server, Done done) override {
    host_.check_closed(server, std::move(done));
  }
  void check_models(const std::vector<LeaseModel>& models, Done done) override;
  void find_models(const ModelServer& server, std::function<void(Result<ServedModels>)> done) override {
    host_.find_models(server, std::move(done));
  }
  void load(const ModelServer& server, const LeaseModel& model, Done done) override;
  void unload(const ModelServer& server, const std::string& model, Done done) override;
  void find_backends(const ServerAddress& server, const std::string& model,
                     std::function<void(Result<std::vector<std::string>>)> done) override {
    host_.find_backends(server, model, std::move(done));
  }

 private:
  InstanceModels& host_;
  const ModelFolders& folders_;
  SerialExecutor& answers_on_;
  SerialExecutor& files_;
  bool is_stopped_ = false;
};

}  // namespace atl::pools
