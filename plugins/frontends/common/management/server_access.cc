#include "common/management/management.h"

namespace atl::frontends {
namespace {

constexpr int32_t kNice = 5;

template <class Interface>
void find_optional(Host& host, Service<Interface>* service) noexcept {
  if (Result<Service<Interface>> found = host.registry().find<Interface>(); found.ok()) {
    *service = std::move(found).value();
  }
}

}  // namespace

Result<ServerAccess> ServerAccess::open(Host& host) noexcept {
  ServerAccess server;
  server.host = &host;
  Result<Service<ModelCatalog>> catalog = host.registry().find<ModelCatalog>();
  if (!catalog.ok()) return std::move(catalog).status();
  server.catalog = std::move(catalog).value();
  server.router = std::make_unique<RouterSlot>(host);
  ATOLL_RETURN_IF_ERROR(server.router->open());
  find_optional(host, &server.shared_memory);
  find_optional(host, &server.tracing);
  find_optional(host, &server.log_control);
  ThreadPlacement placement;
  placement.nice = kNice;
  Result<SerialExecutorPtr> worker = host.executors().create("management", placement);
  if (!worker.ok()) return std::move(worker).status();
  server.worker = std::move(worker).value();
  return server;
}

}  // namespace atl::frontends
