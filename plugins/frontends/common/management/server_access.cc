#include "frontends/common/management/management.h"

namespace atl::frontends {
namespace {

constexpr int32_t kNice = 5;

template <class Interface>
Status follow(Host& host, std::unique_ptr<Followed<Interface>>* service) noexcept {
  *service = std::make_unique<Followed<Interface>>(host);
  return (*service)->open();
}

}  // namespace

Result<ServerAccess> ServerAccess::open_models(Host& host) noexcept {
  ServerAccess server;
  server.host = &host;
  Result<Service<ModelCatalog>> catalog = host.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  server.catalog = std::move(catalog).value();
  server.router = std::make_unique<RouterSlot>(host);
  ATOLL_RETURN_IF_ERROR(server.router->open());
  return server;
}

Result<ServerAccess> ServerAccess::open(Host& host) noexcept {
  Result<ServerAccess> models = open_models(host);
  if (!models.ok()) return models;
  ServerAccess server = std::move(models).value();
  server.access = std::make_unique<AccessPoint>(host);
  ATOLL_RETURN_IF_ERROR(server.access->open());
  ATOLL_RETURN_IF_ERROR(follow(host, &server.shared_memory));
  server.device_memory = std::make_unique<DeviceMemory>(host);
  ATOLL_RETURN_IF_ERROR(server.device_memory->open());
  ATOLL_RETURN_IF_ERROR(follow(host, &server.tracing));
  ATOLL_RETURN_IF_ERROR(follow(host, &server.log_control));
  ATOLL_RETURN_IF_ERROR(follow(host, &server.remote_models));
  server.request_memory = std::make_unique<RequestBudgets>(host);
  ATOLL_RETURN_IF_ERROR(server.request_memory->open());
  ThreadPlacement placement;
  placement.nice = kNice;
  Result<SerialExecutorPtr> worker = host.executors().create("management", placement);
  if (!worker.ok()) return std::move(worker).status();
  server.worker = std::move(worker).value();
  return server;
}

}  // namespace atl::frontends
