#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/stop_executor.h"
#include "atoll/testing/conformance/console_page.h"
#include "atoll/testing/conformance/grpc_calls.h"
#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/conformance/launcher.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/thread_executor.h"
#include "pools/leases/api/grpc_pool_calls.h"
#include "pools/leases/api/http_calls.h"
#include "pools/leases/api/messages.h"
#include "pools/leases/console/pools_page.h"
#include "pools/leases/servers/servers_with_folders.h"
#include "pools/leases/testing/best_fit_placement.h"
#include "pools/leases/testing/fake_servers.h"

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Pools, ConsolePageConformance,
                         ::testing::Values(ConsolePageProvider{
                             "pools", [] { return std::make_shared<pools::PoolsPage>(); }, {}}));

/// The launcher that the other tests of this folder trust.
class FakeEngine final : public LauncherUnderTest {
 public:
  Launcher& launcher() override { return servers_; }
  ServerSpec server() override { return {}; }
  bool wait(const std::function<bool()>& is_true) override {
    const int64_t end_ns = clock_.now_ns() + 60 * kNsPerSecond;
    while (!is_true()) {
      if (clock_.now_ns() > end_ns || !executors_.step()) return false;
    }
    return true;
  }

 private:
  FakeClock clock_;
  DeterministicExecutors executors_{clock_, 1};
  pools::FakeServers servers_{executors_};
};

INSTANTIATE_TEST_SUITE_P(FakeServers, LauncherConformance,
                         ::testing::Values(LauncherProvider{
                             "fake servers", [] { return std::make_shared<FakeEngine>(); }, {}}));

/// The same with directories of models around it.
class FakeEngineWithFolders final : public LauncherUnderTest {
 public:
  Launcher& launcher() override { return launcher_; }
  ServerSpec server() override {
    ServerSpec server;
    server.repository = directory_.path() / cat(++made_);
    return server;
  }
  bool wait(const std::function<bool()>& is_true) override { return engine_.wait(is_true); }
  ~FakeEngineWithFolders() override {
    EXPECT_GT(made_, 0);
    // Those of servers that the test has not ended stay, for the next process.
    EXPECT_LE(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
  }

 private:
  int made_ = 0;
  TemporaryDirectory directory_;
  FakeEngine engine_;
  const pools::ModelFolders folders_{directory_.path(), {}};
  pools::FolderLauncher launcher_{engine_.launcher(), folders_};
};

INSTANTIATE_TEST_SUITE_P(
    FakeServersWithFolders, LauncherConformance,
    ::testing::Values(LauncherProvider{
        "fake servers with folders", [] { return std::make_shared<FakeEngineWithFolders>(); }, {}}));

/// Servers that are there at once, and do at once what they are told; but for a model whose load never ends.
class InstantServers final : public Launcher, public pools::InstanceModels {
 public:
  void answer_on(SerialExecutor& executor) { executor_ = &executor; }

  void launch(const ServerSpec& server, LauncherListener& listener) noexcept override {
    listener.server_running(server.id, {{"127.0.0.1", 1}, {}});
  }
  void adopt(const ServerSpec& server, LauncherListener& listener) noexcept override {
    listener.server_ended(server.id, not_found("nothing is kept"));
  }
  void end(std::string_view) noexcept override {}
  void forget(LauncherListener&) noexcept override {}

  void check_ready(const ServerAddress&, Done done) override { succeed(std::move(done)); }
  void check_closed(const ServerAddress&, Done done) override { succeed(std::move(done)); }
  void check_models(const std::vector<pools::LeaseModel>&, Done done) override { succeed(std::move(done)); }
  void find_models(const pools::ModelServer&, std::function<void(Result<pools::ServedModels>)>) override {}
  void load(const pools::ModelServer&, const pools::LeaseModel& model, Done done) override {
    if (model.name != "never") succeed(std::move(done));
  }
  void unload(const pools::ModelServer&, const std::string&, Done done) override { succeed(std::move(done)); }
  void find_backends(const ServerAddress&, const std::string&,
                     std::function<void(Result<std::vector<std::string>>)> done) override {
    executor_->post(make_task([done = std::move(done)] { done(std::vector<std::string>{"onnxruntime"}); }));
  }

 private:
  void succeed(Done done) {
    executor_->post(make_task([done = std::move(done)] { done({}); }));
  }
  SerialExecutor* executor_ = nullptr;
};

/// The calls of a manager on a real thread, with one pool.
class RealPools final : public HttpRoutesUnderTest, public GrpcCallsUnderTest, private pools::PoolEvents {
 public:
  RealPools() {
    executor_ = std::move(threads_.create("pools", {})).value();
    servers_.answer_on(*executor_);
    store_ = std::move(pools::Store::open("")).value();
    with_.emplace(pools::PoolContext{*executor_,
                                     threads_.clock(),
                                     log_,
                                     servers_,
                                     servers_,
                                     placement_,
                                     {},
                                     [this] { return cat("id-", ++made_); },
                                     [] { return std::string("key"); }});
    manager_.emplace(*with_, *store_, static_cast<pools::PoolEvents&>(*this), routes_);
    calls_.emplace(*manager_, *with_);
    grpc_calls_.emplace(*manager_, *with_);
    run([&] {
      pools::PoolDefinition pool;
      pool.name = "p";
      pool.quota = 8;
      pool.max_instances = pools::kInstancesMax;
      EXPECT_TRUE(manager_->create_pool(pool).ok());
    });
  }
  virtual ~RealPools() {
    drain();
    stop_executor(executor_);
  }
  HttpRoutes& routes() override { return *calls_; }
  GrpcCalls& calls() override { return *grpc_calls_; }
  void drain() override {
    run([&] {
      calls_->drain();
      grpc_calls_->drain();
    });
  }

 private:
  template <class Call>
  void run(Call call) {
    std::promise<void> done;
    executor_->post(make_task([&] {
      call();
      done.set_value();
    }));
    done.get_future().wait();
  }
  void happened(const pools::PoolEvent&) override {}

  ThreadExecutors threads_;
  RecordingLog log_;
  InstantServers servers_;
  pools::BestFitPlacement placement_;
  pools::LeaseRoutes routes_;
  int made_ = 0;
  std::unique_ptr<pools::Store> store_;
  SerialExecutorPtr executor_;
  std::optional<pools::PoolContext> with_;
  std::optional<pools::PoolManager> manager_;
  std::optional<pools::HttpCalls> calls_;
  std::optional<pools::GrpcPoolCalls> grpc_calls_;
};

std::vector<HttpRoutesCase> cases() {
  const auto lease = [](std::string_view model) {
    return cat(R"({"pool":"p","quota":1,"duration":"1h","models":[{"name":")", model,
               R"(","source":"/m"}]})");
  };
  const auto one = [](std::string method, std::string path, std::string body = {}) {
    return FakeHttpRequest{std::move(method), std::move(path), {}, {}, std::move(body)};
  };
  FakeHttpRequest stream = one("POST", "/v2/leases", lease("never"));
  stream.headers.emplace_back("Accept", "text/event-stream");
  return {{"/v2/pools", one("GET", "/v2/pools")},
          {"/v2/pools", one("POST", "/v2/pools", std::string(100'000, 'x')), 400},
          {"/v2/pools/*", one("GET", "/v2/pools/p")},
          {"/v2/pools/*", one("DELETE", "/v2/pools/none"), 404},
          {"/v2/leases", one("GET", "/v2/leases")},
          {"/v2/leases", one("POST", "/v2/leases", lease("quick"))},
          {"/v2/leases", one("POST", "/v2/leases", lease("never")), 200, /*lasts=*/true},
          {"/v2/leases", stream, 200, /*lasts=*/true},
          {"/v2/leases/*", one("DELETE", "/v2/leases/none"), 404},
          {"/v2/lease_names", one("GET", "/v2/lease_names")},
          {"/v2/lease_names/*", one("PUT", "/v2/lease_names/n", R"({"lease":"none"})"), 404}};
}

std::shared_ptr<HttpRoutesUnderTest> make_pools() { return std::make_shared<RealPools>(); }
INSTANTIATE_TEST_SUITE_P(Pools, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"pools", make_pools, cases(), {}}));

std::vector<GrpcCallsCase> grpc_cases() {
  const auto lease = [](const char* model) {
    pools::v1::LeaseDefinition definition;
    definition.set_pool("p");
    definition.set_quota(1);
    definition.add_models()->set_name(model);
    definition.mutable_models(0)->set_source("/m");
    return definition.SerializeAsString();
  };
  const std::string pool = "/pools.v1.PoolService/", of_lease = "/pools.v1.LeaseService/";
  return {{pool + "List"},
          {pool + "Create", {}, Code::kInvalidArgument},
          {pool + "Status", {}, Code::kNotFound},
          {pool + "Update", {}, Code::kNotFound},
          {pool + "Delete", {}, Code::kNotFound},
          {of_lease + "Renew", {}, Code::kNotFound},
          {of_lease + "Status", {}, Code::kNotFound},
          {of_lease + "SetName", {}, Code::kInvalidArgument},
          {of_lease + "DeleteName", {}, Code::kNotFound},
          {of_lease + "List"},
          {of_lease + "ListNames"},
          {of_lease + "Acquire", {lease("quick")}},
          {of_lease + "Acquire", {lease("never")}, Code::kOk, /*lasts=*/true},
          {of_lease + "Plan", {lease("quick")}},
          {of_lease + "Release", {}, Code::kNotFound}};
}

std::shared_ptr<GrpcCallsUnderTest> make_grpc_pools() { return std::make_shared<RealPools>(); }
INSTANTIATE_TEST_SUITE_P(Pools, GrpcCallsConformance,
                         ::testing::Values(GrpcCallsProvider{"pools", make_grpc_pools, grpc_cases(), {}}));

}  // namespace
}  // namespace atl::test
