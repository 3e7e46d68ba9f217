/// What a TRITONSERVER_Server* points to: the server as programs that hold it, and backends that ask other models, see
/// it. Provided by the plugin frontends/c_api; its answers are what that protocol's functions hand on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/models/repository.h"
#include "triton/core/tritonserver.h"

/// Service "atoll.triton_server/1". [any] unless said otherwise; texts that are returned are JSON.
struct TRITONSERVER_Server {
  static constexpr std::string_view kInterfaceId = "atoll.triton_server/1";

  /// The model that a request is for; waits for one that is loaded on demand. \param version  -1: the version policy's
  /// choice. Errors: ModelCatalog::acquire(), ModelDemand::await()
  virtual atl::Result<atl::ModelRef> acquire(std::string_view model, int64_t version) noexcept = 0;
  virtual bool is_live() noexcept = 0;
  virtual bool is_ready() noexcept = 0;
  virtual atl::Result<bool> is_model_ready(std::string_view model, int64_t version) noexcept = 0;
  virtual atl::Result<std::string> metadata() noexcept = 0;
  virtual atl::Result<std::string> model_metadata(std::string_view model, int64_t version) noexcept = 0;
  virtual atl::Result<std::string> model_config(std::string_view model, int64_t version) noexcept = 0;
  /// \param model  empty: of all models
  virtual atl::Result<std::string> statistics(std::string_view model, int64_t version) noexcept = 0;
  virtual atl::Result<std::string> index(bool ready_only) noexcept = 0;
  /// Blocks until it is loaded, or failed. \param config  JSON; null: the directory's
  virtual atl::Status load(std::string_view model, const std::string* config,
                           std::vector<atl::RepositoryFile> files) noexcept = 0;
  virtual atl::Status unload(std::string_view model, bool with_dependents) noexcept = 0;
  /// Looks at the repositories, and returns when what has changed is loaded. UNAVAILABLE: not in the control mode POLL.
  virtual atl::Status poll() noexcept = 0;
  // UNIMPLEMENTED: not in the control mode EXPLICIT.
  /// \param names  directory and model name. Errors: RepositoryPaths::add()
  virtual atl::Status register_repository(
      std::string_view path, std::span<const std::pair<std::string, std::string>> names) noexcept = 0;
  virtual atl::Status unregister_repository(std::string_view path) noexcept = 0;
  /// Prometheus text.
  virtual atl::Result<std::string> metrics() noexcept = 0;
  /// Requests that are sent to it hold passes until they are over, so that its end waits for them; null: nobody waits.
  virtual atl::Gate* requests_in_flight() noexcept { return nullptr; }
  /// Whether requests are sent to it by backends, as steps of those that they execute.
  virtual bool is_for_backends() const noexcept { return false; }
  /// A call that uses a model of this server holds a pass while it runs, so that the plugins stay mapped until it has
  /// returned; null: the caller keeps the plugins mapped by other means.
  virtual atl::Gate* calls() noexcept { return nullptr; }

 protected:
  ~TRITONSERVER_Server() = default;
};
