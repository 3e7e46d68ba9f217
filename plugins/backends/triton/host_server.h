/// The server as backends see it that ask other models.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/replaceable.h"
#include "atoll/triton/server.h"

namespace atl::triton {

/// What provides the server's side of the C API may come, go and be replaced while backends keep their pointer to this:
/// each call goes to who is there, and is UNAVAILABLE where nobody is. At the server's end the provider drains before
/// the frontends whose requests may still ask other models; it is kept until the models themselves are withdrawn.
/// [any] but for open(), let_go() and close(), which are [control].
class HostServer final : public TRITONSERVER_Server {
 public:
  explicit HostServer(Host& host) : host_(host) {}
  virtual ~HostServer() { close(); }
  /// Errors: EventBus::subscribe()
  Status open() noexcept;
  /// From here on a provider that drains is not kept.
  void let_go() noexcept;
  /// There is none from here on. Returns when every call has ended.
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
  bool is_for_backends() const noexcept override { return true; }

 private:
  enum class Keeping : uint8_t { kNotYet, kYes, kNoMore };
  struct OnService {
    HostServer& link;
    void operator()(const ServiceChanged& event) const noexcept { link.take(event); }
  };
  struct OnServerState {
    HostServer& link;
    void operator()(const ServerStateChanged& event) const noexcept { link.take(event); }
  };

  void take(const ServiceChanged& event) noexcept;
  void take(const ServerStateChanged& event) noexcept;
  void renew() noexcept;

  Host& host_;
  Keeping keeping_ = Keeping::kNotYet;  ///< a provider that drains, because the server ends
  Replaceable<Service<TRITONSERVER_Server>> server_;
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
  Subscription<ServerStateChanged, OnServerState> server_state_changed_{OnServerState{*this}};
};

}  // namespace atl::triton
