#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_repository.h"
#include "atoll/testing/temporary_directory.h"
#include "control/on_demand/on_demand_plugin.h"

namespace atl::control {
namespace {

void set_options(test::FakeHost& host) {
  host.options()
      .set_duration_ns("unload_after", 0)
      .set_bytes("memory_budget", 0)
      .set_strings("pinned", {})
      .set_int("max_waiting", 1000)
      .set_duration_ns("max_wait", 60 * kNsPerSecond)
      .set_duration_ns("retry_after", kNsPerSecond)
      .set_duration_ns("interval", 0);
}

struct Waiter final : ModelWaiter {
  void on_model(Result<ModelRef> model) noexcept override {
    ++told;
    if (model.ok()) {
      answer = cat("version ", (*model)->info().version);
    } else {
      answer = cat(code_name(model.status().code()), " ", model.status().message());
    }
  }
  int told = 0;
  std::string answer = "(none)";
  Cancellation cancellation;
};

class OnDemandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_options(host_);
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Repository>("repository", repository_);
    for (const char* model : {"a", "b", "c", "d"}) put(model);
  }
  void TearDown() override {
    if (plugin_ != nullptr) plugin_->stop();
    EXPECT_EQ(host_.registry().holders(), 0u);
    EXPECT_EQ(host_.simulation().executors(), 0u);
    EXPECT_EQ(host_.gate().count(), 0);
  }
  test::FakeServedModel& put(const std::string& model, int64_t version = 1) {
    repository_.put(model, {version});
    test::FakeServedModel& served = catalog_.add_identity(model, DataType::kFp32, 0, version);
    catalog_.unload({model}, [](const auto&) {});
    seen_ = catalog_.calls().size();
    return served;
  }
  void start() {
    plugin_ = std::make_unique<OnDemandPlugin>(host_);
    ASSERT_TRUE(plugin_->start().ok());
    host_.run_ready();
  }
  ModelDemand& demand() { return plugin_->demand(); }
  /// Lets a request wait; on a refusal that is the answer.
  std::unique_ptr<Waiter> ask(const std::string& model, int64_t version = ModelCatalog::kLatest,
                              int64_t deadline_ns = 0) {
    auto waiter = std::make_unique<Waiter>();
    Status status = demand().await({model, version, deadline_ns, &waiter->cancellation}, *waiter);
    if (!status.ok()) waiter->answer = cat("refused ", code_name(status.code()), " ", status.message());
    return waiter;
  }
  std::string answer(const std::string& model, int64_t version = ModelCatalog::kLatest) {
    auto waiter = ask(model, version);
    host_.run_ready();
    return waiter->answer;
  }
  /// What was asked of the catalog since the last time.
  std::vector<std::string> calls() {
    std::vector<std::string> calls = catalog_.calls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(seen_));
    seen_ += calls.size();
    return calls;
  }
  /// A request is answered by the model.
  void use(const std::string& model) {
    auto found = catalog_.acquire(model, ModelCatalog::kLatest);
    ASSERT_TRUE(found.ok()) << model;
    auto& served = *static_cast<test::FakeServedModel*>(found->get());
    served.respond = [](Request&) {};
    Request request;
    ASSERT_TRUE(served.infer(request).ok());
  }

  using Calls = std::vector<std::string>;
  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  test::FakeRepository repository_;
  std::unique_ptr<OnDemandPlugin> plugin_;
  size_t seen_ = 0;
};

TEST_F(OnDemandTest, NothingIsLoadedAtStart) {
  start();
  EXPECT_EQ(calls(), Calls{});
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_EQ(demand().unloaded_reason("a"), "loaded on demand");
  EXPECT_EQ(demand().unloaded_reason("nobody"), "");
}

TEST_F(OnDemandTest, TheFirstRequestLoadsAndAllAreAnswered) {
  start();
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 100; ++i) waiters.push_back(ask("a"));
  host_.run_ready();
  EXPECT_EQ(calls(), Calls{"load a"}) << "one load";
  for (const auto& waiter : waiters) {
    EXPECT_EQ(waiter->told, 1);
    EXPECT_EQ(waiter->answer, "version 1");
  }
  EXPECT_EQ(answer("a"), "version 1");
  EXPECT_EQ(calls(), Calls{});
}

TEST_F(OnDemandTest, WhatTheRepositoryDoesNotHaveIsRefusedAtOnce) {
  start();
  EXPECT_EQ(ask("nobody")->answer, "refused NOT_FOUND Request for unknown model: 'nobody' is not found");
  EXPECT_EQ(calls(), Calls{});
}

TEST_F(OnDemandTest, WhatIsMadeAfterAFailedRequestIsFoundByTheNext) {
  start();
  host_.fake_clock().advance(kNsPerSecond);
  EXPECT_EQ(answer("late"), "NOT_FOUND Request for unknown model: 'late' is not found");
  put("late");
  EXPECT_EQ(answer("late"), "refused NOT_FOUND Request for unknown model: 'late' has no available versions")
      << "it was looked for a moment ago";
  host_.fake_clock().advance(kNsPerSecond);
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 100; ++i) waiters.push_back(ask("late"));
  host_.run_ready();
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->answer, "version 1");
  EXPECT_EQ(calls(), Calls{"load late"});
}

TEST_F(OnDemandTest, UnknownNamesHaveTheRepositoryListedOnceASecond) {
  host_.options().set_int("max_waiting", 10);
  start();
  host_.fake_clock().advance(kNsPerSecond);
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 100; ++i) waiters.push_back(ask(cat("nobody ", i)));
  auto known = ask("a");
  host_.run_ready();
  EXPECT_EQ(known->answer, "version 1") << "they leave room";
  for (int i = 0; i < 100; ++i) {
    const std::string text = cat("NOT_FOUND Request for unknown model: 'nobody ", i, "' is not found");
    EXPECT_EQ(waiters[static_cast<size_t>(i)]->answer, i < 5 ? text : "refused " + text);
  }
  const uint64_t lists = repository_.lists();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ask(cat("other ", i))->answer.starts_with("refused NOT_FOUND"));
  host_.run_ready();
  EXPECT_EQ(repository_.lists(), lists);
  host_.fake_clock().advance(kNsPerSecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer("nobody").find("NOT_FOUND") == std::string::npos, false);
  EXPECT_EQ(repository_.lists(), lists + 1);
}

TEST_F(OnDemandTest, ARepositoryThatCanNotBeListedKeepsItsAnswers) {
  start();
  host_.fake_clock().advance(kNsPerSecond);
  repository_.fail(Code::kUnavailable);
  EXPECT_EQ(answer("nobody"), "NOT_FOUND Request for unknown model: 'nobody' is not found");
  EXPECT_EQ(answer("a"), "version 1");
}

TEST_F(OnDemandTest, AVersionThatIsNotThereLoadsOnce) {
  start();
  EXPECT_EQ(answer("a", 7), "NOT_FOUND Request for unknown model: 'a' version 7 is not found");
  EXPECT_EQ(calls(), Calls{"load a"});
  EXPECT_EQ(answer("a", 7), "refused NOT_FOUND Request for unknown model: 'a' version 7 is not found");
  EXPECT_EQ(calls(), Calls{});
}

TEST_F(OnDemandTest, AFailureIsToldAndNotRepeatedInAStorm) {
  catalog_.decide = [](bool load, const std::string&) {
    return load ? internal_error("no weights") : Status();
  };
  start();
  auto first = ask("a");
  auto second = ask("a");
  host_.run_ready();
  const std::string text = "UNAVAILABLE model 'a' is loaded on demand and failed to load: no weights";
  EXPECT_EQ(first->answer, text);
  EXPECT_EQ(second->answer, text);
  EXPECT_EQ(calls(), (Calls{"load a", "unload a with members"}))
      << "nothing of it makes the server not ready";
  EXPECT_EQ(demand().unloaded_reason("a"), "loaded on demand; the last load failed: no weights");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask("a")->answer, "refused " + text);
  EXPECT_EQ(calls(), Calls{});

  host_.run_for(kNsPerSecond);
  EXPECT_EQ(answer("a"), text) << "tried again";
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(ask("a")->answer, "refused " + text) << "the pause grows";
  host_.run_for(kNsPerSecond);
  catalog_.decide = nullptr;
  EXPECT_EQ(answer("a"), "version 1");
  EXPECT_EQ(demand().unloaded_reason("a"), "loaded on demand");
}

TEST_F(OnDemandTest, WaitingIsBounded) {
  host_.options().set_int("max_waiting", 2);
  catalog_.holds_loads = true;
  start();
  auto one = ask("a");
  auto two = ask("b");
  EXPECT_EQ(ask("a")->answer,
            "refused UNAVAILABLE model 'a' is not loaded, and 2 requests wait for models already, at most "
            "max_waiting may");
  host_.run_ready();
  catalog_.end_loads();
  host_.run_ready();
  EXPECT_EQ(one->answer + two->answer, "version 1version 1");
  EXPECT_EQ(answer("a"), "version 1");
}

TEST_F(OnDemandTest, WaitingEndsAtTheDeadlineOrAfterMaxWait) {
  catalog_.holds_loads = true;
  start();
  auto late = ask("a");
  auto soon = ask("a", ModelCatalog::kLatest, host_.clock().now_ns() + 5 * kNsPerMs);
  host_.run_for(5 * kNsPerMs - 1);
  EXPECT_EQ(soon->told, 0);
  host_.run_for(1);
  EXPECT_EQ(soon->answer, "DEADLINE_EXCEEDED model 'a' is still being loaded after 5 ms");
  host_.run_for(60 * kNsPerSecond);
  EXPECT_EQ(late->answer, "UNAVAILABLE model 'a' is still being loaded after 60000 ms");
  auto again = ask("a");
  catalog_.end_loads();
  host_.run_ready();
  EXPECT_EQ(again->answer, "version 1") << "the load went on";
  EXPECT_EQ(calls(), Calls{"load a"});
  EXPECT_EQ(soon->told + late->told, 2);
}

TEST_F(OnDemandTest, ACancelledRequestDoesNotWait) {
  catalog_.holds_loads = true;
  start();
  auto waiter = ask("a");
  waiter->cancellation.cancel();
  EXPECT_EQ(waiter->told, 0) << "not on the thread that cancels";
  host_.run_ready();
  EXPECT_EQ(waiter->answer, "CANCELLED ");
  Waiter gone;
  gone.cancellation.cancel();
  EXPECT_EQ(demand().await({"a", -1, 0, &gone.cancellation}, gone).code(), Code::kCancelled);
  catalog_.end_loads();
  host_.run_ready();
  EXPECT_EQ(waiter->told, 1);
  EXPECT_EQ(gone.told, 0);
}

TEST_F(OnDemandTest, WhatNobodyAsksForIsUnloaded) {
  host_.options().set_duration_ns("unload_after", 10 * kNsPerSecond).set_strings("pinned", {"b"});
  start();
  EXPECT_EQ(answer("a"), "version 1");
  EXPECT_EQ(answer("c"), "version 1");
  EXPECT_EQ(calls(), (Calls{"load b", "load a", "load c"}));
  for (int i = 0; i < 9; ++i) {
    host_.run_for(2 * kNsPerSecond);
    use("c");
  }
  EXPECT_EQ(calls(), Calls{"unload a with members"});
  EXPECT_TRUE(host_.log().contains("unloading 'a': idle for 10."));
  EXPECT_TRUE(host_.log().contains("; considered as well: 'c' (idle for "));
  EXPECT_TRUE(host_.log().contains("pinned: 'b'"));
  host_.run_for(20 * kNsPerSecond);
  EXPECT_EQ(calls(), Calls{"unload c with members"});
  EXPECT_EQ(answer("a"), "version 1") << "and comes back";
  EXPECT_EQ(calls(), Calls{"load a"});
}

TEST_F(OnDemandTest, PinnedModelsAreLoadedAtStartAndTheCatalogKeepsTheirFailures) {
  host_.options().set_strings("pinned", {"a", "nobody"});
  start();
  EXPECT_EQ(calls(), (Calls{"load a", "load nobody"}));
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_TRUE(host_.log().contains("start-up: 1 model loaded, 1 failed: nobody"));
}

TEST_F(OnDemandTest, TheRepositoryIsLookedAtAgain) {
  host_.options().set_duration_ns("interval", 15 * kNsPerSecond);
  start();
  EXPECT_EQ(answer("a"), "version 1");
  put("new");
  repository_.remove("a");
  EXPECT_EQ(ask("new")->answer.substr(0, 17), "refused NOT_FOUND");
  host_.run_for(15 * kNsPerSecond);
  EXPECT_EQ(calls(), Calls{"unload a with members"});
  EXPECT_TRUE(host_.log().contains("unloading 'a': it is gone from the repository"));
  EXPECT_EQ(answer("new"), "version 1");
  EXPECT_EQ(ask("a")->answer.substr(0, 17), "refused NOT_FOUND");
  repository_.fail(Code::kUnavailable, "/srv: Input/output error");
  host_.run_for(60 * kNsPerSecond);
  EXPECT_EQ(host_.log().count(LogLevel::kError,
                              "the model repositories cannot be listed: /srv: Input/output error"),
            1u);
  EXPECT_EQ(answer("b"), "version 1") << "what is known stays";
  repository_.fail(Code::kOk);
  host_.run_for(60 * kNsPerSecond);
  EXPECT_EQ(host_.log().count(LogLevel::kInfo, "the model repositories can be listed again"), 1u);
}

TEST_F(OnDemandTest, ARepositoryThatIsNotThereAtStartIsWaitedFor) {
  repository_.fail(Code::kUnavailable, "/srv: No such file or directory");
  start();
  EXPECT_FALSE(catalog_.startup_complete);
  repository_.fail(Code::kOk);
  host_.run_for(kNsPerSecond);
  EXPECT_TRUE(catalog_.startup_complete);
  EXPECT_EQ(answer("a"), "version 1");
}

TEST_F(OnDemandTest, WhatAnotherControlLoadedIsTakenOver) {
  catalog_.load({"a"}, [](const auto&) {});
  host_.options().set_duration_ns("unload_after", 10 * kNsPerSecond);
  start();
  EXPECT_EQ(calls(), Calls{"load a"});
  host_.run_for(12 * kNsPerSecond);
  EXPECT_EQ(calls(), Calls{"unload a with members"});
}

TEST_F(OnDemandTest, WhatWentAwayOtherwiseIsLoadedAgain) {
  start();
  EXPECT_EQ(answer("a"), "version 1");
  catalog_.unload({"a"}, [](const auto&) {});
  EXPECT_EQ(answer("a"), "version 1");
  EXPECT_EQ(calls(), (Calls{"load a", "unload a", "load a"}));
}

TEST_F(OnDemandTest, ADrainTellsThoseThatWait) {
  catalog_.holds_loads = true;
  start();
  auto waiter = ask("a");
  host_.run_ready();
  host_.gate().close();
  plugin_->drain(0);
  host_.run_ready();
  EXPECT_EQ(waiter->answer, "UNAVAILABLE Server exiting");
  EXPECT_EQ(ask("b")->answer, "refused UNAVAILABLE Server exiting");
  EXPECT_NE(host_.gate().count(), 0) << "the load";
  EXPECT_NE(plugin_->holding(), "");
  catalog_.end_loads();
  host_.run_ready();
  EXPECT_EQ(waiter->told, 1);
}

/// Waits for one model after the other; what it is told is counted.
struct CountingWaiter final : ModelWaiter {
  void on_model(Result<ModelRef> model) noexcept override {
    if (model.ok()) ++models;
    told.fetch_add(1, std::memory_order_release);
  }
  std::atomic<int> told{0};
  std::atomic<int> models{0};
};

TEST(OnDemandThreads, EveryWaitEndsOnceWhileModelsComeAndGo) {
  constexpr int kThreads = 6;
  constexpr int kWaits = 500;
  test::FakeHost host("control", test::FakeHost::Threads::kReal);
  set_options(host);
  host.options().set_duration_ns("unload_after", kNsPerMs).set_duration_ns("max_wait", 2 * kNsPerMs);
  test::FakeModelCatalog catalog;
  test::FakeRepository repository;
  host.registry().publish<ModelCatalog>("models", catalog);
  host.registry().publish<Repository>("repository", repository);
  const std::string names[] = {"a", "b", "c", "d"};
  for (const std::string& name : names) {
    repository.put(name);
    catalog.add_identity(name);
    catalog.unload({name}, [](const auto&) {});
  }
  OnDemandPlugin plugin(host);
  ASSERT_TRUE(plugin.start().ok());
  while (!catalog.startup_complete) std::this_thread::yield();
  ModelDemand& demand = plugin.demand();
  std::atomic<int> models{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CountingWaiter waiter;
      for (int i = 0; i < kWaits; ++i) {
        Cancellation cancellation;
        waiter.told = 0;
        Status status = demand.await({names[(i * 7 + t) % 4], i % 3 == 0 ? 1 : -1, 0, &cancellation}, waiter);
        if (!status.ok()) continue;
        if (i % 5 == t % 5) cancellation.cancel();
        while (waiter.told.load(std::memory_order_acquire) == 0) std::this_thread::yield();
        ASSERT_EQ(waiter.told, 1);
      }
      models += waiter.models;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(models, kThreads * kWaits / 4);
  host.gate().close();
  plugin.drain(0);
  while (host.gate().count() != 0) std::this_thread::yield();
  plugin.stop();
}

class MemoryBudgetTest : public OnDemandTest {
 protected:
  /// A model whose files have so many bytes.
  void put_file(const std::string& model, uint64_t bytes) {
    put(model);
    std::filesystem::path folder = directory_.path() / model / "1";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "weights").close();
    std::filesystem::resize_file(folder / "weights", bytes);
    repository_.set_path(model, folder.parent_path());
  }
  static constexpr uint64_t kMiB = 1 << 20;
  test::TemporaryDirectory directory_;
};

TEST_F(MemoryBudgetTest, TheLeastRecentlyUsedMakeRoom) {
  host_.options().set_bytes("memory_budget", 70 * kMiB).set_strings("pinned", {"p"});
  for (const char* model : {"a", "b", "c", "p"}) put_file(model, 20 * kMiB);
  put_file("huge", 200 * kMiB);
  start();
  EXPECT_EQ(answer("a"), "version 1");
  EXPECT_EQ(answer("b"), "version 1");
  EXPECT_EQ(calls(), (Calls{"load p", "load a", "load b"}));
  host_.run_for(kNsPerSecond);
  use("a");
  EXPECT_EQ(answer("c"), "version 1");
  EXPECT_EQ(calls(), (Calls{"unload b with members", "load c"})) << "before the load";
  EXPECT_TRUE(
      host_.log().contains("unloading 'b': least recently used: idle for 1.0 s, about 20.0 MiB; 'c' and what "
                           "is loaded take about 80.0 MiB, memory_budget is 70.0 MiB; considered as well: "
                           "'a' (idle for 0.0 s, about 20.0 MiB); pinned: 'p'"));
  EXPECT_EQ(answer("huge"), "version 1") << "alone it may be larger";
  EXPECT_EQ(calls(), (Calls{"unload a with members", "unload c with members", "load huge"}));
}

}  // namespace
}  // namespace atl::control
