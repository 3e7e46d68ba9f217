/// Conformance of "atoll.model_config/1". Works on text and on opaque bytes: no protobuf is needed here.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "atoll/models/model_config.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_host.h"

namespace atl::test {

struct ModelConfigsProvider {
  std::string name;
  std::function<std::shared_ptr<ModelConfigs>(FakeHost&)> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ModelConfigsProvider& provider, std::ostream* out) { *out << provider.name; }
};

class ModelConfigConformance : public Conformance<ModelConfigsProvider> {
 protected:
  static constexpr const char* kComplete = R"(name: "m"
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
)";
  void SetUp() override {
    configs_ = GetParam().make(host_);
    ASSERT_NE(configs_, nullptr);
  }
  void TearDown() override { configs_.reset(); }
  static RepositoryModel model(std::string text, const std::vector<int64_t>& versions = {1}) {
    RepositoryModel model;
    model.entry = {"m", "/models", "/models/m"};
    for (int64_t version : versions) model.versions.push_back({version, cat("/models/m/", version)});
    if (!text.empty()) model.config_path = "/models/m/config.pbtxt";
    model.config_text = std::move(text);
    return model;
  }
  /// read() and finish(); a test failure and empty bytes if either fails.
  std::string finished(const std::string& text) {
    auto read = configs_->read(model(text), true);
    EXPECT_TRUE(is_ok(read)) << text;
    if (!read.ok()) return {};
    auto finished = configs_->finish(read.value());
    EXPECT_TRUE(is_ok(finished)) << text;
    return finished.ok() ? finished.value() : std::string();
  }
  std::vector<int64_t> selected(const std::string& policy, const std::vector<int64_t>& versions) {
    std::vector<int64_t> numbers;
    std::vector<std::string> warnings;
    auto found = configs_->select_versions(finished(kComplete + policy), model("", versions), &warnings);
    EXPECT_TRUE(is_ok(found)) << policy;
    if (!found.ok()) return numbers;
    for (const RepositoryVersion& version : found.value()) numbers.push_back(version.version);
    return numbers;
  }

  FakeHost host_;
  std::shared_ptr<ModelConfigs> configs_;
};

TEST_P(ModelConfigConformance, ACompleteConfigurationIsReadAlikeEveryTime) {
  check([&] {
    auto first = configs_->read(model(kComplete), true), second = configs_->read(model(kComplete), true);
    ASSERT_TRUE(is_ok(first));
    ASSERT_TRUE(is_ok(second));
    EXPECT_EQ(first.value(), second.value());
    EXPECT_NE(first->find("INPUT0"), std::string::npos);
  });
}

TEST_P(ModelConfigConformance, FinishingTwiceChangesNothing) {
  check([&] {
    std::string once = finished(kComplete);
    auto twice = configs_->finish(once);
    ASSERT_TRUE(is_ok(twice));
    EXPECT_EQ(twice.value(), once);
  });
}

TEST_P(ModelConfigConformance, InstanceGroupsAreFilledAndStay) {
  check([&] {
    std::string config = finished(kComplete);
    auto once = configs_->finish_instance_groups(config, {}, {});
    ASSERT_TRUE(is_ok(once));
    EXPECT_NE(once.value(), config) << "no group was added";
    auto twice = configs_->finish_instance_groups(once.value(), {}, {});
    ASSERT_TRUE(is_ok(twice));
    EXPECT_EQ(twice.value(), once.value());
  });
}

TEST_P(ModelConfigConformance, AGpuThatIsNotThereIsRefused) {
  check([&] {
    std::string config = finished(cat(kComplete, "instance_group [ { kind: KIND_GPU gpus: [ 3 ] } ]\n"));
    EXPECT_TRUE(is_failure(configs_->finish_instance_groups(config, {}, {}), Code::kInvalidArgument));
  });
}

TEST_P(ModelConfigConformance, AnUnknownFieldIsNamedWithItsLine) {
  check([&] {
    auto read = configs_->read(model("name: \"m\"\nbackend: \"identity\"\nmax_batch_sise: 8\n"), false);
    EXPECT_TRUE(is_failure(read, Code::kInvalidArgument, "/models/m/config.pbtxt:3:"));
    EXPECT_TRUE(is_failure(read, Code::kInvalidArgument, "max_batch_sise"));
  });
}

TEST_P(ModelConfigConformance, AWrongValueIsNamedWithItsLine) {
  check([&] {
    auto read = configs_->read(model("name: \"m\"\nmax_batch_size: \"eight\"\n"), false);
    EXPECT_TRUE(is_failure(read, Code::kInvalidArgument, "/models/m/config.pbtxt:2:"));
  });
}

TEST_P(ModelConfigConformance, ASyntaxErrorIsNamedWithItsLine) {
  check([&] {
    auto read = configs_->read(model("name: \"m\"\nbackend: \"identity\"\n\ninput [ { name: }\n"), false);
    EXPECT_TRUE(is_failure(read, Code::kInvalidArgument, "/models/m/config.pbtxt:4:"));
  });
}

TEST_P(ModelConfigConformance, StrictNeedsACompleteText) {
  check([&] {
    EXPECT_FALSE(configs_->read(model(""), true).ok());
    EXPECT_TRUE(is_ok(configs_->read(model(kComplete), true)));
  });
}

TEST_P(ModelConfigConformance, TheNameIsTheDirectorys) {
  check([&] {
    EXPECT_TRUE(is_failure(configs_->read(model("name: \"other\"\nbackend: \"identity\"\n"), false),
                           Code::kInvalidArgument, "other"));
    auto derived = configs_->read(model("backend: \"identity\"\n"), false);
    ASSERT_TRUE(is_ok(derived));
    EXPECT_EQ(derived.value(), configs_->read(model("name: \"m\"\nbackend: \"identity\"\n"), false).value());
  });
}

TEST_P(ModelConfigConformance, NegativeBatchSizesAreRefused) {
  check([&] {
    auto read = configs_->read(model("name: \"m\"\nbackend: \"identity\"\nmax_batch_size: -1\n"), false);
    Status status = read.ok() ? configs_->finish(read.value()).status().clone() : read.status().clone();
    EXPECT_TRUE(is_failure(status, Code::kInvalidArgument, "max_batch_size"));
  });
}

TEST_P(ModelConfigConformance, VersionPolicies) {
  check([&] {
    EXPECT_EQ(selected("", {1, 2, 10}), (std::vector<int64_t>{10}));
    EXPECT_EQ(selected("version_policy { latest { num_versions: 2 } }", {1, 2, 10}),
              (std::vector<int64_t>{2, 10}));
    EXPECT_EQ(selected("version_policy { all {} }", {1, 2, 10}), (std::vector<int64_t>{1, 2, 10}));
    EXPECT_EQ(selected("version_policy { specific { versions: [ 10, 1 ] } }", {1, 2, 10}),
              (std::vector<int64_t>{1, 10}));
  });
}

TEST_P(ModelConfigConformance, NoVersionIsAnError) {
  check([&] {
    constexpr std::string_view kText =
        "at least one version must be available under the version policy of model 'm'";
    std::vector<std::string> warnings;
    EXPECT_TRUE(is_failure(configs_->select_versions(finished(kComplete), model("", {}), &warnings),
                           Code::kInvalidArgument, kText));
    std::string config = finished(cat(kComplete, "version_policy { specific { versions: [ 7 ] } }"));
    EXPECT_TRUE(is_failure(configs_->select_versions(config, model("", {1}), &warnings),
                           Code::kInvalidArgument, kText));
    ASSERT_FALSE(warnings.empty()) << "a version that is asked for and is not there";
    EXPECT_NE(warnings.front().find("7"), std::string::npos);
  });
}

TEST_P(ModelConfigConformance, TheJsonFormIsReadAsTheTextIs) {
  check([&] {
    auto text = configs_->read(model(kComplete), true);
    ASSERT_TRUE(is_ok(text));
    auto json = configs_->read_json(model("not looked at"), R"({"backend": "identity", "max_batch_size": 8,
        "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [16]}],
        "output": [{"name": "OUTPUT0", "data_type": "type_fp32", "dims": ["16"]}]})",
                                    true);
    ASSERT_TRUE(is_ok(json));
    EXPECT_EQ(json.value(), text.value());
    for (const char* bad : {"", "[]", "{", R"({"max_batch_sise": 8})", R"({"name": "other"})"}) {
      EXPECT_TRUE(is_failure(configs_->read_json(model(""), bad, false), Code::kInvalidArgument)) << bad;
    }
    EXPECT_TRUE(is_failure(configs_->read_json(model(""), "no JSON", false), Code::kInvalidArgument,
                           "Invalid config override: "));
    EXPECT_FALSE(configs_->read_json(model(""), std::string(1'000'000, '['), false).ok());
  });
}

TEST_P(ModelConfigConformance, TheTextIsShownAsItIsWritten) {
  check([&] {
    // Wrong, and not complete: whoever prepares the model may lead to what is right.
    auto parsed = configs_->parse(model("name: \"other\"\nmax_batch_size: -1\n"));
    ASSERT_TRUE(is_ok(parsed));
    EXPECT_EQ(parsed.value(),
              configs_->parse_json(model(""), R"({"name":"other","max_batch_size":-1})").value());
    EXPECT_TRUE(is_failure(configs_->parse(model("name: \"m\"\ninput [\n")), Code::kInvalidArgument,
                           "/models/m/config.pbtxt:"));
    EXPECT_TRUE(is_failure(configs_->parse_json(model(""), "[]"), Code::kInvalidArgument));
  });
}

TEST_P(ModelConfigConformance, BytesThatAreNoConfigurationAreRefused) {
  check([&] {
    const std::string garbage = "\xff\xff\xff\xff not a message";
    std::vector<std::string> warnings;
    EXPECT_FALSE(configs_->finish(garbage).ok());
    EXPECT_FALSE(configs_->finish_instance_groups(garbage, {}, {}).ok());
    EXPECT_FALSE(configs_->select_versions(garbage, model(""), &warnings).ok());
  });
}

TEST_P(ModelConfigConformance, HostileTextsAreRefused) {
  check([&] {
    std::string deep = "name: \"m\"\n";
    for (int i = 0; i < 100'000; ++i) deep += "input { ";
    EXPECT_FALSE(configs_->read(model(deep), false).ok());
    EXPECT_FALSE(configs_->read(model(std::string("name: \"m\0\"", 10)), false).ok());
    EXPECT_FALSE(configs_->read(model("\xef\xbf\xbf\x80{{{{"), false).ok());
  });
}

TEST_P(ModelConfigConformance, ThreadsGetTheSame) {
  check([&] {
    const std::string expected = finished(kComplete);
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          auto read = configs_->read(model(kComplete), true);
          if (!read.ok() || configs_->finish(read.value()).value() != expected) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace atl::test
