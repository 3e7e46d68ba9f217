#include "backends/triton/host_server.h"

#include <optional>

#include "atoll/models/model.h"

namespace atl::triton {
namespace {

Status nobody() {
  return unavailable("no plugin provides ", TRITONSERVER_Server::kInterfaceId,
                     ", which answers calls of backends to the server");
}

}  // namespace

Status HostServer::open() noexcept {
  renew();
  ATOLL_RETURN_IF_ERROR(services_changed_.open(host_.events(), {.depth = 4096}));
  return server_state_changed_.open(host_.events());
}

void HostServer::let_go() noexcept {
  keeping_ = Keeping::kNoMore;
  renew();
}

void HostServer::close() noexcept {
  server_state_changed_.reset();
  services_changed_.reset();
  server_.close();
}

void HostServer::take(const ServiceChanged& event) noexcept {
  const std::string_view id = event.interface_id.view();
  if (id == TRITONSERVER_Server::kInterfaceId) renew();
  // The catalog drains after the frontends, so no client waits for an answer any more.
  if (id == ModelCatalog::kInterfaceId && event.kind == ServiceChanged::Kind::kWithdrawn &&
      keeping_ == Keeping::kYes) {
    let_go();
  }
}

void HostServer::take(const ServerStateChanged& event) noexcept {
  if (event.state == ServerStateChanged::State::kDraining && keeping_ == Keeping::kNotYet) {
    keeping_ = Keeping::kYes;
  }
}

void HostServer::renew() noexcept {
  Result<Service<TRITONSERVER_Server>> found = host_.registry().find<TRITONSERVER_Server>();
  if (!found.ok() && keeping_ == Keeping::kYes) return;
  const Code code = found.status().code();
  if (!found.ok() && code != Code::kNotFound && code != Code::kUnavailable) {
    host_.log().warning(TRITONSERVER_Server::kInterfaceId, " is not used: ", found.status().message());
  }
  const Service<TRITONSERVER_Server>* held = server_.value();
  const TRITONSERVER_Server* used = held == nullptr ? nullptr : held->get();
  if (found.ok() ? found->get() == used : used == nullptr) return;
  server_.replace(found.ok() ? std::optional(std::move(found).value()) : std::nullopt);
}

Result<ModelRef> HostServer::acquire(std::string_view model, int64_t version) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->acquire(model, version);
}

bool HostServer::is_live() noexcept {
  auto server = server_.hold();
  return server && (*server)->is_live();
}

bool HostServer::is_ready() noexcept {
  auto server = server_.hold();
  return server && (*server)->is_ready();
}

Result<bool> HostServer::is_model_ready(std::string_view model, int64_t version) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->is_model_ready(model, version);
}

Result<std::string> HostServer::metadata() noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->metadata();
}

Result<std::string> HostServer::model_metadata(std::string_view model, int64_t version) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->model_metadata(model, version);
}

Result<std::string> HostServer::model_config(std::string_view model, int64_t version) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->model_config(model, version);
}

Result<std::string> HostServer::statistics(std::string_view model, int64_t version) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->statistics(model, version);
}

Result<std::string> HostServer::index(bool ready_only) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->index(ready_only);
}

Status HostServer::load(std::string_view model, const std::string* config,
                        std::vector<RepositoryFile> files) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->load(model, config, std::move(files));
}

Status HostServer::unload(std::string_view model, bool with_dependents) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->unload(model, with_dependents);
}

Status HostServer::poll() noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->poll();
}

Status HostServer::register_repository(std::string_view path,
                                       std::span<const std::pair<std::string, std::string>> names) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->register_repository(path, names);
}

Status HostServer::unregister_repository(std::string_view path) noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->unregister_repository(path);
}

Result<std::string> HostServer::metrics() noexcept {
  auto server = server_.hold();
  if (!server) return nobody();
  return (*server)->metrics();
}

}  // namespace atl::triton
