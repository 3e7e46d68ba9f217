#include "pools/leases/pool_service.h"

#include <array>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <future>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"
#include "atoll/lib/hex.h"
#include "pools/leases/api/json_answers.h"

namespace atl::pools {
namespace {

constexpr int64_t kOpenIntervalNs = 20 * kNsPerMs;
constexpr int64_t kMetricsIntervalNs = kNsPerSecond;

/// Where requests go, for the instance that takes this one's place: it has the state later than the requests. One of
/// another build of this plugin does not see it, and serves leased models when it has the state.
struct RoutesOfProcess {
  static inline std::mutex mutex;  ///< guards what follows
  static inline std::map<std::string, std::vector<LeaseRoutes*>>
      by_directory;  ///< of the state; the newest last
};

bool is_same(const PoolDefinition& a, const PoolDefinition& b) {
  return a.quota == b.quota && a.enforce_backends == b.enforce_backends && a.instance == b.instance;
}

/// 256 bits of the system's generator.
std::string make_key() {
  std::random_device random;
  std::array<uint8_t, 32> bytes;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return hex(bytes);
}

template <class Call>
auto run_on(SerialExecutor& executor, Call call) {
  std::promise<decltype(call())> result;
  executor.post(make_task([&] { result.set_value(call()); }));
  return result.get_future().get();
}

}  // namespace

struct PoolService::Open {
  Open(PoolService& service, std::unique_ptr<Store> opened)
      : store(std::move(opened)),
        folders(service.settings_.pools.repositories, service.settings_.pools.lease_limits.sources),
        launcher(*service.launcher_, folders),
        http_host(*service.executor_, service.host_.clock(), service.client_, service.settings_.host,
                  &service.tls_),
        host(http_host, folders, *service.executor_, *service.files_),
        with{*service.executor_,
             service.host_.clock(),
             service.host_.log(),
             launcher,
             host,
             *service.placement_,
             service.settings_.pools,
             [this] { return boost::uuids::to_string(make_uuid()); },
             [] { return make_key(); }},
        manager(with, *store, static_cast<PoolEvents&>(service), service.routes_),
        use(with, manager.book(), http_host, static_cast<PoolEvents&>(service), service.settings_.use),
        calls(manager, with),
        grpc_calls(manager, with) {
    manager.leases().set_use(&use);
  }

  boost::uuids::random_generator make_uuid;  ///< version 4
  std::unique_ptr<Store> store;
  ModelFolders folders;
  FolderLauncher launcher;
  HttpInstanceModels http_host;
  FolderModelHost host;
  PoolContext with;
  PoolManager manager;
  UseWatch use;
  HttpCalls calls;
  GrpcPoolCalls grpc_calls;
};

// --- life ---

PoolService::PoolService(Host& host, PluginSettings settings) : host_(host), settings_(std::move(settings)) {}
PoolService::~PoolService() = default;

Status PoolService::start(Launcher& launcher, const Placement& placement) {
  launcher_ = &launcher;
  placement_ = &placement;
  ATOLL_RETURN_IF_ERROR(tls_.start(host_));
  ATOLL_RETURN_IF_ERROR(client_.start(host_.executors(), "pools-http"));
  publish_routes();
  Result<SerialExecutorPtr> executor = host_.executors().create("pools", {});
  Result<SerialExecutorPtr> files = host_.executors().create("pools-files", {});
  Status status = executor.ok() ? Status() : executor.status().clone();
  if (status.ok() && !files.ok()) status = files.status().clone();
  if (status.ok()) {
    executor_ = std::move(executor).value();
    files_ = std::move(files).value();
    if (host_.replaces_running_instance()) {
      executor_->post(make_task([this] { open_later(); }));
    } else {
      status = run_on(*executor_, [this] { return guarded("pools", [this] { return open(false); }); });
    }
  }
  if (!status.ok()) stop();
  return status;
}

void PoolService::publish_routes() {
  const std::scoped_lock lock(RoutesOfProcess::mutex);
  std::vector<LeaseRoutes*>& routes = RoutesOfProcess::by_directory[settings_.state_directory];
  if (host_.replaces_running_instance() && !routes.empty()) routes_.inherit(*routes.back());
  routes.push_back(&routes_);
}

void PoolService::withdraw_routes() noexcept {
  const std::scoped_lock lock(RoutesOfProcess::mutex);
  const auto routes = RoutesOfProcess::by_directory.find(settings_.state_directory);
  if (routes == RoutesOfProcess::by_directory.end()) return;
  std::erase(routes->second, &routes_);
  if (routes->second.empty()) RoutesOfProcess::by_directory.erase(routes);
}

/// The instance before still has the state; it lets it go when its calls have ended.
void PoolService::open_later() {
  const Status status = guarded("pools", [this] { return open(true); });
  if (status.ok()) return host_.log().info("pools are taken over");
  refuse_because(status);
  if (status.code() != Code::kUnavailable)
    return host_.log().error("pools are not taken over: ", status.text());
  executor_->post_at(host_.clock().now_ns() + kOpenIntervalNs, make_task([this] { open_later(); }));
}

Status PoolService::open(bool is_takeover) {
  Result<std::unique_ptr<Store>> store = Store::open(settings_.state_directory);
  if (!store.ok()) return std::move(store).status();
  open_ = std::make_unique<Open>(*this, std::move(store).value());
  Status status = open_->folders.make(settings_.pools.repositories);
  if (!status.ok()) status = std::move(status).note(settings_.pools.repositories);
  if (status.ok()) status = open_->manager.restore();
  if (status.ok()) status = declare(open_->manager);
  if (is_takeover && status.code() == Code::kFailedPrecondition) {
    // What has served goes on: the instance before cannot come back any more.
    host_.log().error(status.text());
    status = {};
  }
  if (!status.ok()) {
    open_->launcher.forget(open_->manager.launcher_listener());
    open_.reset();
    return status;
  }
  routes_.settle();
  calls_.store(open_.get(), std::memory_order_release);
  refresh_metrics();
  look_at_use();
  return {};
}

/// \returns the first failure; the others are declared all the same
Status PoolService::declare(PoolManager& manager) const {
  Status first;
  for (const PoolDefinition& definition : settings_.declared) {
    Status status = declare(manager, definition);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status PoolService::declare(PoolManager& manager, const PoolDefinition& definition) {
  const Pool* const pool = manager.book().find_pool(definition.name);
  if (pool == nullptr) return manager.create_pool(definition);
  if (is_same(pool->record().definition, definition))
    return manager.update_pool(definition.name, definition.min_instances, definition.max_instances);
  return make_status(Code::kFailedPrecondition, "option 'pools': '", definition.name,
                     "' is there with another quota, enforce_backends or instance; these do not change: "
                     "delete it first, or declare it as it is");
}

void PoolService::drain() noexcept {
  refuse_because(Status(Code::kUnavailable, "the server is shutting down"));
  (void)run_on(*executor_, [this] {
    if (open_ == nullptr) return true;
    open_->calls.drain();
    open_->grpc_calls.drain();
    return true;
  });
}

void PoolService::stop() noexcept {
  withdraw_routes();
  calls_.store(nullptr, std::memory_order_release);
  if (executor_ != nullptr) {
    (void)run_on(*executor_, [this] {
      if (open_ == nullptr) return true;
      open_->launcher.forget(open_->manager.launcher_listener());
      open_->host.stop();
      open_->http_host.stop();
      return true;
    });
  }
  // The threads that answer on the executor go before it, and none of its tasks asks them for anything any more.
  client_.stop();
  tls_.stop();
  stop_executor(files_);
  stop_executor(executor_);
  open_.reset();
}

// --- what happens ---

void PoolService::happened(const PoolEvent& event) {
  metrics_.happened(event);
  PoolChanged changed;
  changed.kind = event.kind;
  changed.code = event.code;
  changed.pool = event.pool;
  changed.lease = event.lease;
  if (event.instance) changed.instance = *event.instance;
  changed.quota = event.quota;
  changed.reason = event.reason;
  host_.events().publish(changed, /*retain=*/false);
  const std::string of =
      cat(pool_event_name(event.kind), ": pool '", event.pool, "'", event.lease.empty() ? "" : ", lease ",
          event.lease, event.instance ? cat(", instance i", *event.instance) : std::string());
  host_.log().info(of, event.reason.empty() ? "" : ": ", event.reason);
}

void PoolService::refresh_metrics() {
  metrics_.refresh(open_->manager.book(), host_.clock().wall_ns());
  executor_->post_at(host_.clock().now_ns() + kMetricsIntervalNs, make_task([this] { refresh_metrics(); }));
}

void PoolService::look_at_use() {
  open_->use.look();
  executor_->post_at(host_.clock().now_ns() + settings_.use_interval_ns,
                     make_task([this] { look_at_use(); }));
}

// --- calls ---

void PoolService::refuse_because(const Status& status) {
  const std::scoped_lock lock(mutex_);
  closed_because_ = status.message();
}

std::vector<HttpRoute> PoolService::routes() const noexcept { return HttpCalls::all_routes(); }

void PoolService::handle(std::string_view route, HttpExchange& exchange) noexcept {
  if (Open* const open = calls_.load(std::memory_order_acquire); open != nullptr)
    return open->calls.handle(route, exchange);
  HttpReply reply;
  reply.status = 503;
  reply.content_type = "application/json";
  const std::scoped_lock lock(mutex_);
  exchange.answer(reply, error_json(closed_because_));
}

std::vector<GrpcMethod> PoolService::methods() const noexcept { return GrpcPoolCalls::all_methods(); }

void PoolService::handle(std::string_view method, GrpcExchange& exchange) noexcept {
  if (Open* const open = calls_.load(std::memory_order_acquire); open != nullptr)
    return open->grpc_calls.handle(method, exchange);
  const std::scoped_lock lock(mutex_);
  exchange.end(unavailable(closed_because_));
}

}  // namespace atl::pools
