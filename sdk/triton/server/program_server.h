/// The server that a program has made: the server's own answers behind a gate that its end closes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/embedded.h"
#include "atoll/core/gate.h"
#include "atoll/triton/server.h"
#include "server/process_log.h"

namespace atl::triton {

/// Stays in memory after its end, so that a late call is an error.
class ProgramServer final : public TRITONSERVER_Server, public LogFollower {
 public:
  /// \param embedded  has the services that start_embedded() asks for
  ProgramServer(std::unique_ptr<EmbeddedServer> embedded, uint32_t exit_timeout_s)
      : embedded_(std::move(embedded)),
        inner_(static_cast<TRITONSERVER_Server*>(embedded_->service(kInterfaceId))),
        exit_timeout_s_(exit_timeout_s) {}
  virtual ~ProgramServer() = default;

  /// Waits until the models of the start are loaded, or have failed. Errors: INTERNAL the repository cannot be listed, or
  /// one of them has failed and `all`.
  Status wait_for_models(bool all);
  void set_exit_timeout(uint32_t seconds) noexcept { exit_timeout_s_.store(seconds); }
  /// Once it has ended, a success at once. Errors: UNAVAILABLE it did not end in time; it stays in memory
  Status stop() noexcept;

  Result<ModelRef> acquire(std::string_view model, int64_t version) noexcept override {
    return call([&]() -> Result<ModelRef> {
      if (requests_.closed()) return unavailable("Server exiting");
      return inner_->acquire(model, version);
    });
  }
  bool is_live() noexcept override {
    const Pass pass(gate_);
    return pass && !requests_.closed() && inner_->is_live();
  }
  bool is_ready() noexcept override {
    const Pass pass(gate_);
    return pass && !requests_.closed() && inner_->is_ready();
  }
  Result<bool> is_model_ready(std::string_view model, int64_t version) noexcept override {
    return call([&] { return inner_->is_model_ready(model, version); });
  }
  Result<std::string> metadata() noexcept override {
    return call([&] { return inner_->metadata(); });
  }
  Result<std::string> model_metadata(std::string_view model, int64_t version) noexcept override {
    return call([&] { return inner_->model_metadata(model, version); });
  }
  Result<std::string> model_config(std::string_view model, int64_t version) noexcept override {
    return call([&] { return inner_->model_config(model, version); });
  }
  Result<std::string> statistics(std::string_view model, int64_t version) noexcept override {
    return call([&] { return inner_->statistics(model, version); });
  }
  Result<std::string> index(bool ready_only) noexcept override {
    return call([&] { return inner_->index(ready_only); });
  }
  Status load(std::string_view model, const std::string* config,
              std::vector<RepositoryFile> files) noexcept override {
    return call([&] { return inner_->load(model, config, std::move(files)); });
  }
  Status unload(std::string_view model, bool with_dependents) noexcept override {
    return call([&] { return inner_->unload(model, with_dependents); });
  }
  Status poll() noexcept override {
    return call([&] { return inner_->poll(); });
  }
  Status register_repository(std::string_view path,
                             std::span<const std::pair<std::string, std::string>> names) noexcept override {
    return call([&] { return inner_->register_repository(path, names); });
  }
  Status unregister_repository(std::string_view path) noexcept override {
    return call([&] { return inner_->unregister_repository(path); });
  }
  Result<std::string> metrics() noexcept override {
    return call([&] { return inner_->metrics(); });
  }
  Gate* requests_in_flight() noexcept override { return &requests_; }
  Gate* calls() noexcept override { return &gate_; }
  void follow_log(const LogChoices& choices) noexcept override;

 private:
  /// Until nobody is in a gate that is closed. False: somebody still is.
  static bool wait_for(const Gate& gate, std::chrono::steady_clock::time_point deadline);
  /// What the function returns, unless the server has ended.
  template <class Function>
  auto call(Function&& function) noexcept -> decltype(function()) {
    const Pass pass(gate_);
    if (!pass) return unavailable("Server exiting");
    return function();
  }

  Gate requests_;        ///< in flight; closed when the stop begins
  Gate gate_;            ///< calls
  std::mutex stopping_;  ///< held while it ends
  std::unique_ptr<EmbeddedServer> embedded_;
  TRITONSERVER_Server* const inner_;
  std::atomic<uint32_t> exit_timeout_s_;
};

/// Starts a server of the options, or of the manifest that they or the environment name. Errors: manifest_of(), StartEmbedded
Result<std::unique_ptr<EmbeddedServer>> start_embedded(const TRITONSERVER_ServerOptions& options);

}  // namespace atl::triton
