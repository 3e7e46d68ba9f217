/// The server as backends see it that ask other models.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "atoll/followed_service.h"
#include "atoll/triton/server.h"

namespace atl::triton {

/// What provides the server's side of the C API may come, go and be replaced while backends keep their pointer to this:
/// each call goes to who is there, and is UNAVAILABLE where nobody is. [any] but for open() and close().
class ServerLink final : public TRITONSERVER_Server {
 public:
  explicit ServerLink(Host& host) : server_(host) {}
  virtual ~ServerLink() = default;
  /// [control]
  Status open() noexcept { return server_.open(); }
  void close() noexcept { server_.close(); }

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
  Followed<TRITONSERVER_Server> server_;
};

}  // namespace atl::triton
