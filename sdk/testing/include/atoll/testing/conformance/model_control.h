/// Conformance of "atoll.model_control/1".
#pragma once

#include <algorithm>
#include <memory>

#include "atoll/models/model_control.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"

namespace atl::test {

struct ModelControlProvider {
  std::string name;
  /// A started control. The catalog is in the host's registry, published by "models".
  std::function<std::shared_ptr<ModelControl>(FakeHost&)> make;
  std::string mode;  ///< expected
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ModelControlProvider& provider, std::ostream* out) { *out << provider.name; }
};

class ModelControlConformance : public Conformance<ModelControlProvider> {
 protected:
  void SetUp() override {
    catalog_.add_identity("alpha");
    host_.registry().publish<ModelCatalog>("models", catalog_);
    control_ = GetParam().make(host_);
    ASSERT_NE(control_, nullptr);
    host_.run_ready();
  }
  void TearDown() override {
    control_.reset();
    EXPECT_EQ(host_.registry().holders(), 0u) << "services are let go";
  }
  bool explicit_mode() const { return GetParam().mode == "explicit"; }
  /// Calls, lets the host work, and returns the one answer.
  Status change(bool load, const std::string& model) {
    uint32_t calls = 0;
    Status answer = internal_error("no answer came");
    auto done = [&](Status status) {
      ++calls;
      answer = std::move(status);
    };
    load ? control_->load(model, {}, done) : control_->unload(model, {}, done);
    host_.run_ready();
    EXPECT_EQ(calls, 1u) << "answers to one call";
    return answer;
  }
  size_t count(const std::string& call) const {
    std::vector<std::string> calls = catalog_.calls();
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
  }

  FakeModelCatalog catalog_;
  FakeHost host_;
  std::shared_ptr<ModelControl> control_;
};

TEST_P(ModelControlConformance, TheModeIsKnown) {
  check([&] { EXPECT_EQ(control_->mode(), GetParam().mode); });
}

TEST_P(ModelControlConformance, StartUpIsCompletedInTheEnd) {
  check([&] { EXPECT_TRUE(catalog_.startup_complete); });
}

TEST_P(ModelControlConformance, OnlyExplicitModeLetsClientsDecide) {
  check([&] {
    size_t loads = count("load alpha");
    for (bool load : {true, false}) {
      Status status = change(load, "alpha");
      if (explicit_mode()) {
        EXPECT_TRUE(is_ok(status));
      } else {
        EXPECT_TRUE(is_failure(status, Code::kUnavailable,
                               "explicit model load / unload is not allowed if polling is enabled"));
      }
    }
    EXPECT_EQ(count("load alpha") - loads, explicit_mode() ? 1u : 0u);
    EXPECT_EQ(count("unload alpha"), explicit_mode() ? 1u : 0u);
  });
}

TEST_P(ModelControlConformance, AFailedLoadIsAnswered) {
  check([&] {
    Status status = change(true, "nobody");
    EXPECT_FALSE(status.ok());
    if (explicit_mode()) {
      EXPECT_NE(status.text().find("nobody"), std::string::npos) << status.text();
    }
  });
}

TEST_P(ModelControlConformance, ManyCallsGetOneAnswerEach) {
  check([&] {
    std::vector<uint32_t> answers(200);
    for (size_t i = 0; i < answers.size(); ++i) {
      auto done = [&answers, i](Status) { ++answers[i]; };
      i % 3 == 0 ? control_->unload("alpha", {}, done) : control_->load("alpha", {}, done);
    }
    host_.run_ready();
    EXPECT_EQ(answers, std::vector<uint32_t>(answers.size(), 1));
  });
}

}  // namespace atl::test
