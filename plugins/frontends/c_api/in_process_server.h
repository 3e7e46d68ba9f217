/// What a TRITONSERVER_Server* points to: the answers of the other frontends, without a wire.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/core/metrics_page.h"
#include "atoll/models/repository_paths.h"
#include "atoll/models/repository_poll.h"
#include "atoll/triton/server.h"
#include "frontends/common/management/management.h"

namespace atl::frontends::c_api {

/// While a call runs it holds a pass of the host's gate. Those who still hold its service are answered as ever while it
/// drains, because requests that are being executed may need other models until they have ended; at the server's end
/// the catalog itself says when it has no more models.
class InProcessServer final : public TRITONSERVER_Server {
 public:
  InProcessServer(Host& host, std::string server_name)
      : host_(host),
        server_name_(std::move(server_name)),
        metrics_page_(host),
        repository_paths_(host),
        repository_poll_(host) {}
  virtual ~InProcessServer() = default;

  /// Calls may come from a success until close(), which has to follow a failure, too. [control]
  /// Errors: no model catalog.
  Status open() noexcept;
  /// [control]
  void close() noexcept;

  Result<ModelRef> acquire(std::string_view model, int64_t version) noexcept override;
  bool is_live() noexcept override;
  bool is_ready() noexcept override;
  Result<bool> is_model_ready(std::string_view model, int64_t version) noexcept override;
  Result<std::string> metadata() noexcept override;
  Result<std::string> model_metadata(std::string_view model, int64_t version) noexcept override;
  Result<std::string> model_config(std::string_view model, int64_t version) noexcept override;
  Result<std::string> statistics(std::string_view model, int64_t version) noexcept override;
  Result<std::string> index(bool ready_only) noexcept override;
  Status load(std::string_view model, const std::string* config,
              std::vector<RepositoryFile> files) noexcept override;
  Status unload(std::string_view model, bool with_dependents) noexcept override;
  Status poll() noexcept override;
  Status register_repository(std::string_view path,
                             std::span<const std::pair<std::string, std::string>> names) noexcept override;
  Status unregister_repository(std::string_view path) noexcept override;
  Result<std::string> metrics() noexcept override;

 private:
  /// The paths, if which there are is the program's to say; else why not.
  Result<Followed<RepositoryPaths>::Hold> hold_paths(std::string_view change) noexcept;
  /// What the function returns.
  template <class Function>
  auto call(Function&& function) noexcept -> decltype(function());

  Host& host_;
  const std::string server_name_;
  ServerAccess server_;
  Followed<MetricsPage> metrics_page_;
  Followed<RepositoryPaths> repository_paths_;
  Followed<RepositoryPoll> repository_poll_;
};

}  // namespace atl::frontends::c_api
