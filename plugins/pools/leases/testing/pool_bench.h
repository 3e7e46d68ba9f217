/// A pool manager in simulated time, with servers that do what a test wants.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/stop_executor.h"
#include "atoll/frontend/access.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_log.h"
#include "pools/leases/book/pool_manager.h"
#include "pools/leases/testing/best_fit_placement.h"
#include "pools/leases/testing/fake_servers.h"

namespace atl::pools {

/// A caller of a tenant, which may do everything, or everything with one model.
class TenantCaller final : public Identity {
 public:
  /// \param model  empty: all
  explicit TenantCaller(std::string tenant, std::string model = {})
      : tenant_(std::move(tenant)), model_(std::move(model)) {}
  virtual ~TenantCaller() = default;
  std::string_view name() const noexcept override { return "caller"; }
  std::string_view tenant() const noexcept override { return tenant_; }
  bool may(ApiCategory, std::string_view, std::string_view model) const noexcept override {
    return model_.empty() || model.empty() || model == model_;
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return model_.empty(); }
  bool holds() const noexcept override { return true; }

 private:
  const std::string tenant_, model_;
};

/// The calendar may be set.
class SettableClock final : public Clock {
 public:
  explicit SettableClock(const Clock& steady) : steady_(steady) {}
  virtual ~SettableClock() = default;
  int64_t now_ns() const noexcept override { return steady_.now_ns(); }
  int64_t wall_ns() const noexcept override { return steady_.wall_ns() + (offset_ns += ns_a_reading); }
  mutable int64_t offset_ns = 0;
  int64_t ns_a_reading = 0;  ///< that pass whenever the calendar is read

 private:
  const Clock& steady_;
};

class PoolBench : private PoolEvents, private LeaseUse {
 public:
  /// \param directory  of what is stored; empty: in memory
  explicit PoolBench(uint64_t seed = 1, const std::string& directory = {})
      : executors(steady, seed), servers(executors), store(open_store(directory)) {
    settings.ready_interval_ns = 10 * kNsPerMs;
    start();
  }
  PoolBench(const PoolBench&) = delete;
  PoolBench& operator=(const PoolBench&) = delete;
  virtual ~PoolBench() { stop(); }

  test::FakeClock steady;
  SettableClock clock{steady};
  test::DeterministicExecutors executors;
  FakeServers servers;
  test::RecordingLog log;
  std::unique_ptr<Store> store;
  PoolSettings settings;                     ///< for the next start()
  std::vector<std::string> events;           ///< "lease.active", in order
  std::map<std::string, int64_t> last_uses;  ///< by lease; steady clock
  std::unique_ptr<LeaseRoutes> routes;
  bool inherits_routes = false;  ///< the routes of the next start() begin with those of before
  std::unique_ptr<PoolManager> manager;
  PoolEvents* watcher = nullptr;  ///< hears the events, too

  /// Another process over what is stored, while the servers live on.
  void restart() {
    stop();
    start();
  }
  /// Ends as a process does that is killed: what is not stored is lost.
  void stop() {
    if (manager == nullptr) return;
    servers.forget(manager->launcher_listener());
    stop_executor(executor_);
    manager.reset();
  }
  void start() {
    executor_ = std::move(executors.create("pools", {})).value();
    servers.answer_on(*executor_);
    context_ = std::make_unique<PoolContext>(PoolContext{*executor_, clock, log, servers, servers, placement_,
                                                         settings, [this] { return make_id(); },
                                                         [this] { return cat("key-", made_); }});
    auto next_routes = std::make_unique<LeaseRoutes>();
    if (inherits_routes) next_routes->inherit(*routes);
    routes = std::move(next_routes);
    manager = std::make_unique<PoolManager>(*context_, *store, static_cast<PoolEvents&>(*this), *routes);
    manager->leases().set_use(this);
    run([&] { EXPECT_TRUE(manager->restore().ok()); });
    routes->settle();
  }

  /// After a stop(): what was stored there.
  void reopen(const std::string& directory) {
    store = open_store(directory);
    start();
  }
  void run_for(int64_t duration_ns) { executors.run_for(duration_ns); }
  const PoolContext& context() const { return *context_; }
  /// On the manager's executor.
  template <class Call>
  void run(Call call) {
    bool done = false;
    executor_->post(make_task([&] {
      call();
      done = true;
    }));
    while (!done && executors.run_ready(1) != 0) {
    }
    ASSERT_TRUE(done);
  }

  /// "" or the refusal.
  std::string create_pool(const std::string& name, uint64_t quota, uint32_t max_instances,
                          uint32_t min_instances = 0, bool enforce = true) {
    PoolDefinition pool;
    pool.name = name;
    pool.quota = quota;
    pool.max_instances = max_instances;
    pool.min_instances = min_instances;
    pool.enforce_backends = enforce;
    std::string refusal;
    run([&] { refusal = text_of(manager->create_pool(pool)); });
    return refusal;
  }
  static LeaseDefinition lease(uint64_t quota, const std::vector<std::string>& models,
                               int64_t duration_ns = 0) {
    LeaseDefinition lease;
    lease.pool = "p";
    lease.quota = quota;
    if (duration_ns != 0) lease.duration_ns = duration_ns;
    for (const std::string& model : models) lease.models.push_back({model, "/models"});
    return lease;
  }
  /// Its id, or the refusal.
  std::string acquire(const LeaseDefinition& definition) {
    std::string outcome;
    run([&] {
      Result<std::string> id = manager->acquire(definition);
      outcome = id.ok() ? *id : text_of(id.status());
    });
    return outcome;
  }
  /// Has been deployed, or not, when this returns.
  std::string deploy(const LeaseDefinition& definition) {
    const std::string id = acquire(definition);
    run_for(3 * kNsPerSecond);
    return id;
  }
  std::string release(const std::string& id) {
    std::string refusal;
    run([&] { refusal = text_of(manager->release(id)); });
    return refusal;
  }
  /// "ACTIVE on i0", "FAILED: why"
  std::string state(const std::string& id) const {
    const Lease* lease = manager->book().leases.find(id);
    if (lease == nullptr) return "forgotten";
    if (lease->state() == LeaseState::kFailed) return cat("FAILED: ", lease->record.reason);
    if (is_final(lease->state())) return std::string(name_of(lease->state()));
    return cat(name_of(lease->state()), " on i", lease->record.instance);
  }
  /// All that may explain a state: for a test that fails.
  std::string describe(const std::string& id) const {
    const Lease* lease = manager->book().leases.find(id);
    std::string text = cat(id, " is ", state(id), ", pool: ", instances(lease->record.definition.pool));
    if (lease->instance() == nullptr) text += ", it has no instance";
    for (const auto& [server, what] : servers.servers()) {
      text +=
          cat("\nserver ", server, " of ", what.spec.pool, " i", what.spec.instance,
              what.is_running ? ", runs" : "", what.is_ending ? ", ends" : "", what.hangs ? ", hangs" : "");
    }
    for (const test::LogRecord& record : log.records()) text += cat("\n", record.message);
    return text;
  }
  /// "i0 READY used 3 free 5; i1 ..."
  std::string instances(const std::string& pool) const {
    std::string text;
    const Pool* found = manager->book().find_pool(pool);
    if (found == nullptr) return "no pool";
    for (const Place& place : found->places().places()) {
      text +=
          cat(text.empty() ? "" : "; ", "i", place.instance, " ",
              name_of(found->instance(place.instance).state()), " used ", place.used, " free ", place.free);
    }
    return text;
  }
  static std::string text_of(const Status& status) {
    return status.ok() ? std::string() : cat(code_name(status.code()), ": ", status.message());
  }
  size_t count(std::string_view event) const {
    return static_cast<size_t>(std::ranges::count(events, event));
  }

 private:
  static std::unique_ptr<Store> open_store(const std::string& directory) {
    Result<std::unique_ptr<Store>> store = Store::open(directory);
    EXPECT_TRUE(store.ok()) << store.status().text();
    return std::move(store).value();
  }
  std::string make_id() { return cat("id-", ++made_); }
  void happened(const PoolEvent& event) override {
    events.emplace_back(pool_event_name(event.kind));
    if (event.kind == PoolEvent::Kind::kLeaseRefused && event.instance)
      events.emplace_back("lease.refused on an instance");
    if (watcher != nullptr) watcher->happened(event);
  }
  std::optional<int64_t> last_use_ns(std::string_view lease) const override {
    const auto found = last_uses.find(std::string(lease));
    return found == last_uses.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }
  const ObservedUse* observed(std::string_view) const override { return nullptr; }

  BestFitPlacement placement_;
  SerialExecutorPtr executor_;
  std::unique_ptr<PoolContext> context_;
  int made_ = 0;
};

}  // namespace atl::pools
