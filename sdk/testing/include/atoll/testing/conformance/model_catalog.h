/// Conformance of "atoll.model_catalog/1".
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "atoll/models/model.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

/// A catalog and its surroundings. It can load "alpha" (versions 1 and 3) and "beta" (version 2), both
/// without batching: one FP32 input INPUT0 of dims [-1] that comes back as OUTPUT0; and "broken", whose load
/// fails. Nothing is loaded yet.
struct CatalogUnderTest {
  virtual ~CatalogUnderTest() = default;
  virtual ModelCatalog& catalog() = 0;
  /// Runs simulated work until all is done; with real threads: runs control tasks and events once.
  virtual void settle() = 0;
  /// The bus that the catalog publishes to.
  virtual FakeEventBus& events() = 0;
};

struct CatalogProvider {
  std::string name;
  std::function<std::shared_ptr<CatalogUnderTest>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const CatalogProvider& provider, std::ostream* out) { *out << provider.name; }
};

class ModelCatalogConformance : public Conformance<CatalogProvider> {
 protected:
  using Results = std::vector<ModelLoadResult>;

  void SetUp() override {
    bench_ = GetParam().make();
    ASSERT_NE(bench_, nullptr);
  }
  void TearDown() override { bench_.reset(); }
  ModelCatalog& catalog() { return bench_->catalog(); }

  /// Loads or unloads, waits for the answer, and checks that it comes once. For up to a minute.
  Results change(bool load, const std::vector<std::string>& models) {
    struct Answer {
      std::mutex mutex;
      std::optional<Results> results;
      uint32_t calls = 0;
    };
    auto answer = std::make_shared<Answer>();
    auto done = [answer](Results results) {
      std::lock_guard lock(answer->mutex);
      ++answer->calls;
      answer->results = std::move(results);
    };
    load ? catalog().load(models, done) : catalog().unload(models, done);
    auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < give_up) {
      bench_->settle();
      std::lock_guard lock(answer->mutex);
      if (!answer->results) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(answer->calls, 1u);
      EXPECT_EQ(answer->results->size(), models.size());
      return std::move(*answer->results);
    }
    ADD_FAILURE() << "no answer in a minute";
    return {};
  }
  void load(const std::vector<std::string>& models) {
    for (const ModelLoadResult& result : change(true, models))
      EXPECT_TRUE(is_ok(result.status)) << result.model;
  }
  void unload(const std::vector<std::string>& models) {
    for (const ModelLoadResult& result : change(false, models))
      EXPECT_TRUE(is_ok(result.status)) << result.model;
  }
  /// One inference on a held model.
  ::testing::AssertionResult serves(Model& model, float value = 1.5f) {
    TestRequest request("check");
    request.add_input<float>("INPUT0", DataType::kFp32, {3}, {value, 0, -value});
    if (Status status = request.infer(model); !status.ok()) return is_ok(status);
    bench_->settle();
    if (!request.wait_done()) return ::testing::AssertionFailure() << "no answer";
    for (const std::string& problem : request.problems()) return ::testing::AssertionFailure() << problem;
    ReceivedResponse response = request.response();
    if (response.code != Code::kOk) return ::testing::AssertionFailure() << response.message;
    const ReceivedOutput* output = response.find("OUTPUT0");
    if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
    if (values_of<float>(output->bytes) == std::vector<float>{value, 0, -value})
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "wrong values";
  }

  std::shared_ptr<CatalogUnderTest> bench_;
};

TEST_P(ModelCatalogConformance, UnknownModelsHaveTheirText) {
  check([&] {
    for (int64_t version : {ModelCatalog::kLatest, int64_t{1}}) {
      EXPECT_TRUE(is_failure(catalog().acquire("nobody", version), Code::kNotFound,
                             "Request for unknown model: 'nobody' is not found"));
    }
    EXPECT_TRUE(is_failure(catalog().ready_versions("nobody"), Code::kNotFound));
    EXPECT_TRUE(is_failure(catalog().statistics("nobody", ModelCatalog::kLatest), Code::kInvalidArgument,
                           "requested model 'nobody' is not available"));
  });
}

TEST_P(ModelCatalogConformance, ALoadedModelServesItsLatestVersion) {
  check([&] {
    load({"alpha"});
    auto latest = catalog().acquire("alpha", ModelCatalog::kLatest);
    ASSERT_TRUE(is_ok(latest));
    EXPECT_EQ((*latest)->info().name, "alpha");
    EXPECT_EQ((*latest)->info().version, 3);
    EXPECT_EQ((*latest)->info().version_text, "3");
    EXPECT_TRUE((*latest)->ready());
    EXPECT_TRUE(serves(*latest->get()));
    auto first = catalog().acquire("alpha", 1);
    ASSERT_TRUE(is_ok(first));
    EXPECT_EQ((*first)->info().version, 1);
    EXPECT_TRUE(serves(*first->get()));
    auto versions = catalog().ready_versions("alpha");
    ASSERT_TRUE(is_ok(versions));
    EXPECT_EQ(versions.value(), (std::vector<int64_t>{1, 3}));
  });
}

TEST_P(ModelCatalogConformance, AnUnknownVersionHasItsText) {
  check([&] {
    load({"alpha"});
    EXPECT_TRUE(is_failure(catalog().acquire("alpha", 9), Code::kNotFound,
                           "Request for unknown model: 'alpha' version 9 is not found"));
    EXPECT_TRUE(is_failure(catalog().statistics("alpha", 9), Code::kInvalidArgument,
                           "requested model version is not available for model 'alpha'"));
  });
}

TEST_P(ModelCatalogConformance, AnUnloadedModelIsRefusedUntilLoadedAgain) {
  check([&] {
    load({"alpha", "beta"});
    unload({"alpha"});
    bench_->settle();
    EXPECT_TRUE(is_failure(catalog().acquire("alpha", ModelCatalog::kLatest), Code::kNotFound,
                           "Request for unknown model: 'alpha' has no available versions"));
    EXPECT_TRUE(is_failure(catalog().acquire("alpha", 1), Code::kUnavailable,
                           "Request for unknown model: 'alpha' version 1 is not at ready state"));
    EXPECT_TRUE(is_ok(catalog().acquire("beta", ModelCatalog::kLatest)));
    load({"alpha"});
    auto again = catalog().acquire("alpha", ModelCatalog::kLatest);
    ASSERT_TRUE(is_ok(again));
    EXPECT_TRUE(serves(*again->get()));
  });
}

TEST_P(ModelCatalogConformance, AHeldModelOutlivesItsUnload) {
  check([&] {
    load({"alpha"});
    auto held = catalog().acquire("alpha", 1);
    ASSERT_TRUE(is_ok(held));
    unload({"alpha"});
    EXPECT_EQ((*held)->info().name, "alpha");
    EXPECT_EQ((*held)->statistics().version, 1);
    TestRequest late("late");
    late.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
    Status status = late.infer(*held->get());
    bench_->settle();
    if (status.ok()) {
      EXPECT_TRUE(late.wait_done()) << "an accepted request is answered";
    } else {
      EXPECT_TRUE(is_failure(status, Code::kUnavailable));
      EXPECT_FALSE(late.got_final() || late.got_release());
    }
    EXPECT_TRUE(late.problems().empty());
    held->reset();
    bench_->settle();
  });
}

TEST_P(ModelCatalogConformance, UnloadingWhatIsNotLoadedSucceeds) {
  check([&] {
    unload({"alpha"});
    unload({"nobody"});
  });
}

TEST_P(ModelCatalogConformance, AFailedLoadSaysWhyAndHarmsNobody) {
  check([&] {
    load({"beta"});
    for (const char* name : {"broken", "nobody"}) {
      Results results = change(true, {name});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(results[0].model, name);
      EXPECT_FALSE(results[0].status.ok());
      EXPECT_NE(results[0].status.text().find(name), std::string::npos) << results[0].status.text();
      EXPECT_FALSE(catalog().acquire(name, ModelCatalog::kLatest).ok());
    }
    auto beta = catalog().acquire("beta", 2);
    ASSERT_TRUE(is_ok(beta));
    EXPECT_TRUE(serves(*beta->get()));
  });
}

TEST_P(ModelCatalogConformance, AReloadKeepsServing) {
  check([&] {
    load({"alpha"});
    auto before = catalog().acquire("alpha", 1);
    ASSERT_TRUE(is_ok(before));
    load({"alpha"});
    EXPECT_TRUE(serves(*before->get()));
    auto after = catalog().acquire("alpha", 1);
    ASSERT_TRUE(is_ok(after));
    EXPECT_TRUE(serves(*after->get()));
  });
}

TEST_P(ModelCatalogConformance, TheIndexIsOrderedAndSaysTheStates) {
  check([&] {
    load({"alpha", "beta"});
    unload({"beta"});
    bench_->settle();
    auto ready = catalog().index(true);
    ASSERT_TRUE(is_ok(ready));
    std::string lines;
    for (const ModelIndexEntry& entry : ready.value())
      lines += cat(entry.name, " ", entry.version, " ", entry.state, "\n");
    EXPECT_EQ(lines, "alpha 1 READY\nalpha 3 READY\n");
    auto all = catalog().index(false);
    ASSERT_TRUE(is_ok(all));
    bool found = false;
    for (const ModelIndexEntry& entry : all.value()) {
      found = found || (entry.name == "beta" && entry.version == "2" && entry.state == "UNAVAILABLE" &&
                        entry.reason == "unloaded");
    }
    EXPECT_TRUE(found) << "the unloaded version stays in the index";
  });
}

TEST_P(ModelCatalogConformance, StatisticsCountInferences) {
  check([&] {
    load({"beta"});
    {
      auto model = catalog().acquire("beta", 2);
      ASSERT_TRUE(is_ok(model));
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(serves(*model->get()));
    }
    auto statistics = catalog().statistics("beta", ModelCatalog::kLatest);
    ASSERT_TRUE(is_ok(statistics));
    ASSERT_EQ(statistics->size(), 1u);
    EXPECT_EQ((*statistics)[0].name, "beta");
    EXPECT_EQ((*statistics)[0].inference_count, 3u);
    EXPECT_EQ((*statistics)[0].success.count, 3u);
  });
}

TEST_P(ModelCatalogConformance, EventsTellTheState) {
  check([&] {
    load({"beta"});
    auto loaded = bench_->events().retained<ModelStateChanged>();
    ASSERT_EQ(loaded.count("beta/2"), 1u);
    EXPECT_EQ(loaded["beta/2"].state, ModelState::kReady);
    unload({"beta"});
    bench_->settle();
    EXPECT_EQ(bench_->events().retained<ModelStateChanged>()["beta/2"].state, ModelState::kUnavailable);
  });
}

TEST_P(ModelCatalogConformance, ReadersAndLoadsAtTheSameTime) {
  check([&] {
    load({"alpha"});
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&] {
        while (!stop) {
          auto model = catalog().acquire("alpha", 1);
          if (!model.ok() || (*model)->info().version != 1) ++wrong;
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      load({"alpha", "beta"});
      unload({"beta"});
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0u) << "a reload took the model away";
  });
}

}  // namespace atl::test
