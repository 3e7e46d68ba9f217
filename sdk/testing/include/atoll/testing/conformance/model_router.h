/// Conformance of "atoll.model_router/1".
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <thread>

#include "atoll/models/model_router.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

struct ModelRouterProvider {
  std::string name;
  /// A router over the catalog, which has versions 1 to 3 of the model "alpha" and version 1 of "beta", which it
  /// has no rule for. Label "stable" of "alpha" stands for version 2. What it gives out serves until its last
  /// reference is gone, also after the pointer is.
  std::function<std::shared_ptr<ModelRouter>(ModelCatalog&)> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ModelRouterProvider& provider, std::ostream* out) { *out << provider.name; }
};

class ModelRouterConformance : public Conformance<ModelRouterProvider> {
 protected:
  static constexpr int64_t kLatest = ModelCatalog::kLatest;

  void SetUp() override {
    for (int64_t version = 1; version <= 3; ++version) {
      models_.push_back(&catalog_.add_identity("alpha", DataType::kFp32, 0, version));
    }
    models_.push_back(&catalog_.add_identity("beta"));
    router_ = GetParam().make(catalog_);
    ASSERT_NE(router_, nullptr);
  }
  void TearDown() override {
    router_.reset();
    EXPECT_EQ(references(), 0) << "the router has ended, and holds models";
  }
  int64_t references() const {
    int64_t sum = 0;
    for (const FakeServedModel* model : models_) sum += model->references();
    return sum;
  }
  void set_available(const std::string& model, bool available) {
    const auto done = [](const std::vector<ModelLoadResult>&) {};
    available ? catalog_.load({model}, done) : catalog_.unload({model}, done);
  }
  /// The router fails as the catalog does.
  void expect_catalogs_failure(std::string_view model, int64_t version) {
    const Status expected = catalog_.acquire(model, version).status();
    ASSERT_FALSE(expected.ok()) << "nothing is tested";
    Result<ModelRef> found = router_->route(model, version);
    ASSERT_FALSE(found.ok()) << model << " version " << version;
    EXPECT_EQ(found.status().code(), expected.code()) << found.status().text();
    EXPECT_EQ(found.status().message(), expected.message());
  }

  FakeModelCatalog catalog_;
  std::vector<FakeServedModel*> models_;
  std::shared_ptr<ModelRouter> router_;
};

TEST_P(ModelRouterConformance, ALabelStandsForOneVersionOfItsModel) {
  check([&] {
    EXPECT_EQ(router_->labelled("alpha", "stable"), 2);
    for (const std::string& label :
         {std::string(), std::string("Stable"), std::string("stable "), std::string("stabl"),
          std::string("2"), std::string("stable\0x", 8), std::string(100'000, 's')}) {
      EXPECT_EQ(router_->labelled("alpha", label), std::nullopt) << label.substr(0, 20);
    }
    EXPECT_EQ(router_->labelled("beta", "stable"), std::nullopt) << "it is another model's";
    EXPECT_EQ(router_->labelled("nobody", "stable"), std::nullopt);
    EXPECT_EQ(router_->labelled("", "stable"), std::nullopt);
  });
}

TEST_P(ModelRouterConformance, ANamedVersionAnswers) {
  check([&] {
    for (int i = 0; i < 20; ++i) {
      for (int64_t version = 1; version <= 3; ++version) {
        Result<ModelRef> model = router_->route("alpha", version);
        ASSERT_TRUE(is_ok(model));
        EXPECT_EQ((*model)->info().name, "alpha");
        EXPECT_EQ((*model)->info().version, version);
      }
    }
  });
}

TEST_P(ModelRouterConformance, WithoutAVersionOneOfThoseThatServeAnswers) {
  check([&] {
    for (int i = 0; i < 100; ++i) {
      Result<ModelRef> model = router_->route("alpha", kLatest);
      ASSERT_TRUE(is_ok(model));
      EXPECT_EQ((*model)->info().name, "alpha");
      EXPECT_GE((*model)->info().version, 1);
      EXPECT_LE((*model)->info().version, 3);
    }
    Result<ModelRef> other = router_->route("beta", kLatest);
    ASSERT_TRUE(is_ok(other));
    EXPECT_EQ((*other)->info().name, "beta");
  });
}

TEST_P(ModelRouterConformance, FailuresAreTheCatalogs) {
  check([&] {
    for (int64_t version : {int64_t{0}, int64_t{4}, int64_t{-2}, std::numeric_limits<int64_t>::max()}) {
      expect_catalogs_failure("alpha", version);
    }
    for (int64_t version : {kLatest, int64_t{1}}) {
      expect_catalogs_failure("nobody", version);
      expect_catalogs_failure("", version);
    }
    set_available("beta", false);
    expect_catalogs_failure("beta", kLatest);
    expect_catalogs_failure("beta", 1);
    set_available("alpha", false);
    expect_catalogs_failure("alpha", 2);
    EXPECT_FALSE(router_->route("alpha", kLatest).ok());
    set_available("alpha", true);
    EXPECT_TRUE(is_ok(router_->route("alpha", kLatest))) << "it is back";
    catalog_.set_exiting(true);
    expect_catalogs_failure("alpha", kLatest);
    expect_catalogs_failure("beta", 1);
  });
}

TEST_P(ModelRouterConformance, AReferenceKeepsItsModelAndNothingElseDoes) {
  check([&] {
    std::vector<ModelRef> held;
    for (int i = 0; i < 10; ++i) {
      Result<ModelRef> model = router_->route("alpha", i % 2 == 0 ? kLatest : 1);
      ASSERT_TRUE(is_ok(model));
      held.push_back(std::move(model).value());
      EXPECT_GE(references(), i + 1);
    }
    ModelRef again;
    held.front()->add_reference();
    again = ModelRef(held.front().get());
    held.clear();
    EXPECT_GE(references(), 1);
    EXPECT_EQ(again->info().name, "alpha");
    again.reset();
    EXPECT_EQ(references(), 0);
  });
}

TEST_P(ModelRouterConformance, WhatIsRoutedServesAsAModelOfTheCatalogDoes) {
  check([&] {
    for (int64_t version : {kLatest, int64_t{1}, int64_t{2}, int64_t{3}}) {
      Result<ModelRef> model = router_->route("alpha", version);
      ASSERT_TRUE(is_ok(model));
      EXPECT_TRUE((*model)->ready());
      EXPECT_EQ((*model)->statistics().name, "alpha");
      EXPECT_EQ((*model)->statistics().version, (*model)->info().version);
      TestRequest request("r");
      request.add_input<float>("INPUT0", DataType::kFp32, {2}, {1, 2});
      request.add_output("OUTPUT0");
      ASSERT_TRUE(is_ok(request.infer(*model->get())));
      EXPECT_TRUE(request.wait_done());
      EXPECT_EQ(request.problems(), std::vector<std::string>());
      ASSERT_EQ(request.responses().size(), 1u);
      const ReceivedResponse response = request.response();
      EXPECT_EQ(response.code, Code::kOk) << response.message;
      ASSERT_NE(response.find("OUTPUT0"), nullptr);
      EXPECT_EQ(values_of<float>(response.find("OUTPUT0")->bytes), (std::vector<float>{1, 2}));
    }
  });
}

TEST_P(ModelRouterConformance, ARefusalOfTheModelIsThatOfWhatIsRouted) {
  check([&] {
    for (FakeServedModel* model : models_) {
      model->refuse = [](Request&) { return invalid_argument("not today"); };
    }
    Result<ModelRef> model = router_->route("alpha", 2);
    ASSERT_TRUE(is_ok(model));
    TestRequest request("r");
    request.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
    EXPECT_TRUE(is_failure(request.infer(*model->get()), Code::kInvalidArgument, "not today"));
    EXPECT_EQ(request.problems(), std::vector<std::string>());
  });
}

TEST_P(ModelRouterConformance, ThreadsRouteWhileModelsComeAndGo) {
  check([&] {
    constexpr int kThreads = 4, kRoutes = 2'000;
    std::atomic<int> wrong = 0, running = kThreads;
    std::array<std::atomic<int>, 4> found = {};  // by version; kLatest first
    const auto are_found = [&] {
      return std::all_of(found.begin(), found.end(),
                         [](const std::atomic<int>& count) { return count != 0; });
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < kRoutes || (n < 1'000 * kRoutes && !are_found()); ++n) {
          const int64_t version = (n + i) % 4 == 0 ? kLatest : (n + i) % 4;
          Result<ModelRef> model = router_->route("alpha", version);
          if (model.ok()) {
            ++found[(n + i) % 4];
            const int64_t answers = (*model)->info().version;
            wrong += answers < 1 || answers > 3 || (version != kLatest && answers != version);
          } else {
            const Code code = model.status().code();
            wrong += code != Code::kNotFound && code != Code::kUnavailable;
          }
          wrong += router_->labelled("alpha", "stable") != 2;
        }
        --running;
      });
    }
    while (running != 0) {
      set_available("alpha", false);
      set_available("alpha", true);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(are_found()) << "a version was never there when it was asked for: nothing was tested";
    EXPECT_EQ(references(), 0);
  });
}

}  // namespace atl::test
