/// Conformance of "atoll.model_demand/1".
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "atoll/models/model_demand.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"

namespace atl::test {

struct ModelDemandProvider {
  std::string name;
  /// A started demand that loads the model "alpha" when it is asked for, and no other. The catalog is in the
  /// host's registry, published by "models"; the host's threads are simulated or real. It is stopped as the
  /// server does it, the gate closed first, when the pointer goes.
  std::function<std::shared_ptr<ModelDemand>(FakeHost&)> make;
  int64_t max_wait_ns = 0;  ///< after which it gives up a load that does not end
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ModelDemandProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// One request that asks, and what it was told. [any]
class DemandProbe final : public ModelWaiter {
 public:
  virtual ~DemandProbe() = default;
  void on_model(Result<ModelRef> told) noexcept override {
    if (told.ok()) {
      model = (*told)->info().name;
      version = (*told)->info().version;
    } else {
      failure = std::move(told).status();
    }
    times.fetch_add(1, std::memory_order_release);
  }
  int told() const noexcept { return times.load(std::memory_order_acquire); }

  Status refused;  ///< what await() returned
  std::string model;
  int64_t version = 0;
  Status failure;
  Cancellation cancellation;
  std::atomic<int> times{0};
};

class ModelDemandConformance : public Conformance<ModelDemandProvider> {
 protected:
  static constexpr int64_t kLatest = ModelCatalog::kLatest;

  void start(FakeHost::Threads threads = FakeHost::Threads::kSimulated) {
    host_ = std::make_unique<FakeHost>("control", threads);
    for (const char* model : {"alpha", "other"}) {
      models_.push_back(&catalog_.add_identity(model));
      catalog_.unload({model}, [](const auto&) {});
    }
    models_.push_back(&catalog_.add_identity("served"));
    host_->registry().publish<ModelCatalog>("models", catalog_);
    demand_ = GetParam().make(*host_);
    ASSERT_NE(demand_, nullptr);
    host_->run_ready();
  }
  void TearDown() override {
    if (host_ == nullptr) return;
    demand_.reset();
    EXPECT_EQ(host_->gate().count(), 0) << "passes are given back";
    EXPECT_EQ(host_->registry().holders(), 0u) << "services are let go";
    for (const FakeServedModel* model : models_) EXPECT_EQ(model->references(), 0) << model->info().name;
  }
  std::unique_ptr<DemandProbe> ask(std::string_view model, int64_t version = kLatest,
                                   int64_t deadline_ns = 0) {
    auto probe = std::make_unique<DemandProbe>();
    probe->refused = demand_->await({model, version, deadline_ns, &probe->cancellation}, *probe);
    if (!probe->refused.ok()) {
      EXPECT_EQ(probe->told(), 0) << "refused, and told";
    }
    return probe;
  }
  /// It got the model.
  static ::testing::AssertionResult has_model(const DemandProbe& probe, std::string_view model) {
    if (probe.refused.ok() && probe.told() == 1 && probe.failure.ok() && probe.model == model) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "refused: " << probe.refused.text() << "; told " << probe.told()
                                         << " times, '" << probe.model << "', " << probe.failure.text();
  }
  /// It was refused or told a failure, one of the two.
  static ::testing::AssertionResult has_failed(const DemandProbe& probe, Code code,
                                               std::string_view text = {}) {
    if (!probe.refused.ok()) return is_failure(probe.refused, code, text);
    if (probe.told() != 1) return ::testing::AssertionFailure() << "told " << probe.told() << " times";
    return is_failure(probe.failure, code, text);
  }
  uint64_t loads() const {
    const std::vector<std::string> calls = catalog_.calls();
    return static_cast<uint64_t>(std::count(calls.begin(), calls.end(), "load alpha"));
  }

  FakeModelCatalog catalog_;
  std::vector<FakeServedModel*> models_;
  std::unique_ptr<FakeHost> host_;
  std::shared_ptr<ModelDemand> demand_;
};

TEST_P(ModelDemandConformance, AModelThatIsAskedForComes) {
  check([&] {
    start();
    for (int64_t version : {kLatest, int64_t{1}}) {
      auto probe = ask("alpha", version);
      host_->run_ready();
      EXPECT_TRUE(has_model(*probe, "alpha"));
      EXPECT_EQ(probe->version, 1);
    }
    EXPECT_EQ(loads(), 1u);
  });
}

TEST_P(ModelDemandConformance, WhatIsServedAlreadyIsGiven) {
  check([&] {
    start();
    auto probe = ask("served");
    host_->run_ready();
    EXPECT_TRUE(has_model(*probe, "served")) << "it came since it was looked for";
  });
}

TEST_P(ModelDemandConformance, AllWhoWaitAreToldOnceAndTheLoadIsOne) {
  check([&] {
    start();
    catalog_.holds_loads = true;
    std::vector<std::unique_ptr<DemandProbe>> probes;
    for (int i = 0; i < 50; ++i) {
      probes.push_back(ask("alpha", i % 2 == 0 ? kLatest : 1));
      ASSERT_TRUE(is_ok(probes.back()->refused));
      if (i % 10 == 0) host_->run_ready();
    }
    for (const auto& probe : probes) EXPECT_EQ(probe->told(), 0) << "nothing has come";
    catalog_.end_loads();
    host_->run_ready();
    for (const auto& probe : probes) EXPECT_TRUE(has_model(*probe, "alpha"));
    EXPECT_EQ(loads(), 1u);
  });
}

TEST_P(ModelDemandConformance, AVersionThatTheModelHasNotFailsAsTheCatalogDoes) {
  check([&] {
    start();
    auto probe = ask("alpha", 7);
    host_->run_ready();
    const Status expected = catalog_.acquire("alpha", 7).status();
    EXPECT_TRUE(has_failed(*probe, expected.code(), expected.message()));
    auto served = ask("served", 7);
    EXPECT_TRUE(has_failed(*served, Code::kNotFound, "version 7 is not found"));
  });
}

TEST_P(ModelDemandConformance, WhatIsNotLoadedOnDemandFailsAsTheCatalogDoes) {
  check([&] {
    start();
    for (const char* model : {"nobody", "other", ""}) {
      for (int64_t version : {kLatest, int64_t{1}}) {
        const Status expected = catalog_.acquire(model, version).status();
        auto probe = ask(model, version);
        host_->run_ready();
        ASSERT_FALSE(probe->refused.ok()) << model;
        EXPECT_EQ(probe->refused.code(), expected.code());
        EXPECT_EQ(probe->refused.message(), expected.message());
      }
      EXPECT_EQ(demand_->unloaded_reason(model), "") << model;
    }
    EXPECT_NE(demand_->unloaded_reason("alpha"), "");
    EXPECT_EQ(loads(), 0u);
  });
}

TEST_P(ModelDemandConformance, AFailedLoadIsToldWithItsCause) {
  check([&] {
    start();
    catalog_.decide = [](bool load, const std::string&) {
      return load ? internal_error("the disk is on fire") : Status();
    };
    catalog_.holds_loads = true;
    auto first = ask("alpha"), second = ask("alpha");
    ASSERT_TRUE(is_ok(first->refused));
    host_->run_ready();
    catalog_.end_loads();
    host_->run_ready();
    for (const auto* probe : {first.get(), second.get()}) {
      ASSERT_EQ(probe->told(), 1);
      EXPECT_NE(probe->failure.text().find("the disk is on fire"), std::string::npos)
          << probe->failure.text();
    }
    EXPECT_NE(demand_->unloaded_reason("alpha"), "");
    auto next = ask("alpha");
    EXPECT_TRUE(next->refused.ok() || next->refused.text().find("the disk is on fire") != std::string::npos)
        << next->refused.text();
    catalog_.end_loads();
    host_->run_ready();
    EXPECT_EQ(next->told(), next->refused.ok() ? 1 : 0);
  });
}

TEST_P(ModelDemandConformance, ACancelledRequestWaitsNoLonger) {
  check([&] {
    start();
    DemandProbe gone;
    gone.cancellation.cancel();
    gone.refused = demand_->await({"alpha", kLatest, 0, &gone.cancellation}, gone);
    host_->run_ready();
    EXPECT_TRUE(has_failed(gone, Code::kCancelled));
    catalog_.holds_loads = true;
    auto cancelled = ask("alpha"), stays = ask("alpha");
    host_->run_ready();
    cancelled->cancellation.cancel();
    host_->run_ready();
    EXPECT_TRUE(has_failed(*cancelled, Code::kCancelled));
    EXPECT_EQ(stays->told(), 0);
    catalog_.end_loads();
    host_->run_ready();
    EXPECT_TRUE(has_model(*stays, "alpha"));
    stays->cancellation.cancel();
    host_->run_ready();
    EXPECT_EQ(stays->told(), 1) << "nobody listens any more";
    EXPECT_EQ(cancelled->told(), 1);
  });
}

TEST_P(ModelDemandConformance, ARequestMayHaveNoCancellation) {
  check([&] {
    start();
    DemandProbe probe;
    probe.refused = demand_->await({"alpha", kLatest, 0, nullptr}, probe);
    host_->run_ready();
    EXPECT_TRUE(has_model(probe, "alpha"));
  });
}

TEST_P(ModelDemandConformance, AWaitEndsAtItsDeadlineOrWhenTheServiceGivesUp) {
  check([&] {
    start();
    catalog_.holds_loads = true;
    const int64_t wait_ns = GetParam().max_wait_ns;
    ASSERT_GT(wait_ns, 0) << "how long it waits is not said";
    auto patient = ask("alpha");
    auto hasty = ask("alpha", kLatest, host_->clock().now_ns() + wait_ns / 2);
    host_->run_for(wait_ns / 2 - 1);
    EXPECT_EQ(hasty->told(), 0) << "its deadline is not reached";
    host_->run_for(1);
    EXPECT_TRUE(has_failed(*hasty, Code::kDeadlineExceeded));
    EXPECT_EQ(patient->told(), 0);
    host_->run_for(wait_ns - wait_ns / 2);
    EXPECT_TRUE(has_failed(*patient, Code::kUnavailable));
    catalog_.end_loads();
    host_->run_ready();
    EXPECT_EQ(patient->told() + hasty->told(), 2);
  });
}

TEST_P(ModelDemandConformance, AServerThatExitsTakesNobodyIn) {
  check([&] {
    start();
    catalog_.set_exiting(true);
    auto probe = ask("alpha");
    host_->run_ready();
    EXPECT_TRUE(has_failed(*probe, Code::kUnavailable));
    EXPECT_EQ(loads(), 0u);
  });
}

TEST_P(ModelDemandConformance, EveryWaitOfManyThreadsEndsOnce) {
  check([&] {
    constexpr int kThreads = 4, kWaits = 300;
    start(FakeHost::Threads::kReal);
    std::atomic<int> twice = 0, models = 0, running = kThreads;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        // On a busy machine the unloads may win every time for a while.
        for (int n = 0; n < kWaits || (models == 0 && n < 100 * kWaits); ++n) {
          DemandProbe probe;
          if (!demand_->await({"alpha", n % 3 == 0 ? 1 : kLatest, 0, &probe.cancellation}, probe).ok())
            continue;
          if (n % 5 == i) probe.cancellation.cancel();
          while (probe.told() == 0) std::this_thread::yield();
          twice += probe.told() != 1;
          models += probe.model == "alpha";
        }
        --running;
      });
    }
    while (running != 0) {
      catalog_.unload({"alpha"}, [](const auto&) {});
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(twice, 0);
    EXPECT_GT(models, 0) << "nothing was tested";
  });
}

}  // namespace atl::test
