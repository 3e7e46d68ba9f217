// Loads, unloads, and what this server does not do with repositories.
#include <atomic>
#include <future>
#include <thread>

#include "atoll/models/repository_paths.h"
#include "atoll/models/repository_poll.h"
#include "atoll/testing/fake_model_control.h"
#include "frontends/c_api/testing/c_api_fixture.h"

namespace atl::frontends::c_api {
namespace {

class ModelControlTest : public CApiTest {
 protected:
  test::FakeModelControl control_;
};

/// Keeps what ends a call until it is taken.
class HeldControl final : public ModelControl {
 public:
  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string, std::vector<ModelControlParameter>, Done done) noexcept override {
    done_ = std::move(done);
    is_waiting_ = true;
    is_waiting_.notify_all();
  }
  void unload(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override {
    load(std::move(model), std::move(parameters), std::move(done));
  }
  Done take() {
    is_waiting_.wait(false);
    return std::exchange(done_, {});
  }

 private:
  Done done_;
  std::atomic<bool> is_waiting_{false};
};

TEST_F(ModelControlTest, ALoadBringsConfigurationAndFiles) {
  put<ModelControl>(control_);
  start();
  EXPECT_EQ(text_of(server_->load("m", nullptr, {})), "OK");
  const std::string config = "{}";
  EXPECT_EQ(text_of(server_->load("m", &config, {{"1/a", std::string("\0b", 2)}, {"c.txt", ""}})), "OK");
  ASSERT_EQ(control_.calls().size(), 2u);
  const auto plain = control_.calls()[0], overridden = control_.calls()[1];
  EXPECT_TRUE(plain.load);
  EXPECT_EQ(plain.model, "m");
  EXPECT_TRUE(plain.parameters.empty());
  ASSERT_EQ(overridden.parameters.size(), 3u);
  for (const ModelControlParameter& parameter : overridden.parameters) {
    if (parameter.key == "config") {
      EXPECT_EQ(parameter.type, ParameterType::kString);
      EXPECT_EQ(parameter.text, "{}");
    } else if (parameter.key == "file:1/a") {
      EXPECT_EQ(parameter.type, ParameterType::kBytes);
      EXPECT_EQ(parameter.text, std::string("\0b", 2));
    } else {
      EXPECT_EQ(parameter.key, "file:c.txt");
      EXPECT_EQ(parameter.text, "");
    }
  }
}

TEST_F(ModelControlTest, AFileThatComesTwiceIsRefused) {
  put<ModelControl>(control_);
  start();
  EXPECT_EQ(text_of(server_->load("m", nullptr, {{"a", "1"}, {"a", "2"}})),
            "INVALID_ARGUMENT: load parameter 'file:a' is given twice");
  EXPECT_TRUE(control_.calls().empty());
}

TEST_F(ModelControlTest, AnUnloadMayTakeDependentsAlong) {
  put<ModelControl>(control_);
  start();
  EXPECT_EQ(text_of(server_->unload("m", false)), "OK");
  EXPECT_EQ(text_of(server_->unload("m", true)), "OK");
  ASSERT_EQ(control_.calls().size(), 2u);
  EXPECT_FALSE(control_.calls()[0].load);
  EXPECT_TRUE(control_.calls()[0].parameters.empty());
  ASSERT_EQ(control_.calls()[1].parameters.size(), 1u);
  EXPECT_EQ(control_.calls()[1].parameters[0].key, "unload_dependents");
  EXPECT_TRUE(control_.calls()[1].parameters[0].bool_value);
}

TEST_F(ModelControlTest, FailuresAreThoseOfTheControl) {
  control_.decide = [](const auto& call) {
    return internal_error("failed to load '", call.model, "', failed to poll from model repository");
  };
  start();
  const std::string refused =
      "UNAVAILABLE: explicit model load / unload is not allowed if polling is enabled";
  EXPECT_EQ(text_of(server_->load("m", nullptr, {})), refused) << "nobody controls models";
  EXPECT_EQ(text_of(server_->unload("m", false)), refused);
  put<ModelControl>(control_);
  EXPECT_EQ(text_of(server_->load("m", nullptr, {})),
            "INTERNAL: failed to load 'm', failed to poll from model repository");
  EXPECT_EQ(host_.registry().holders(std::string(ModelControl::kInterfaceId)), 0u);
}

TEST_F(ModelControlTest, ALoadWaitsAndKeepsTheInstanceMeanwhile) {
  HeldControl held;
  put<ModelControl>(held);
  start();
  std::string answer = "(none)";
  std::thread caller([&] { answer = text_of(server_->load("m", nullptr, {})); });
  ModelControl::Done done = held.take();
  EXPECT_EQ(host_.gate().count(), 1);
  done(not_found("no such directory"));
  caller.join();
  EXPECT_EQ(answer, "NOT_FOUND: no such directory");
}

TEST_F(ModelControlTest, AControlThatEndsWithoutAnAnswerLeavesNobodyWaiting) {
  HeldControl held;
  put<ModelControl>(held);
  start();
  std::string answer = "(none)";
  std::thread caller([&] { answer = text_of(server_->load("m", nullptr, {})); });
  held.take() = {};
  caller.join();
  EXPECT_EQ(answer, "UNAVAILABLE: Server exiting");
}

/// Records what is added and removed.
class RecordedPaths final : public RepositoryPaths {
 public:
  Status add(std::string_view path, std::span<const NamedDirectory> names) noexcept override {
    std::string call = cat("add ", path);
    for (const NamedDirectory& named : names) call += cat(" ", named.directory, "=", named.model);
    calls.push_back(std::move(call));
    return failure.clone();
  }
  Status remove(std::string_view path) noexcept override {
    calls.push_back(cat("remove ", path));
    return failure.clone();
  }
  std::vector<std::string> calls;
  Status failure;
};

TEST_F(ModelControlTest, RepositoriesAreRegisteredInTheModeExplicit) {
  RecordedPaths paths;
  put<ModelControl>(control_);
  start();
  EXPECT_EQ(text_of(server_->register_repository("/r", {})),
            "UNIMPLEMENTED: no plugin provides atoll.repository_paths/1");
  put<RepositoryPaths>(paths);
  const std::pair<std::string, std::string> names[] = {{"folder", "model"}, {"a", "b"}};
  EXPECT_EQ(text_of(server_->register_repository("/r", names)), "OK");
  EXPECT_EQ(text_of(server_->unregister_repository("/r")), "OK");
  EXPECT_EQ(paths.calls, (std::vector<std::string>{"add /r folder=model a=b", "remove /r"}));
  paths.failure = invalid_argument("failed to register '/r', repository not found");
  EXPECT_EQ(text_of(server_->register_repository("/r", {})),
            "INVALID_ARGUMENT: failed to register '/r', repository not found");
}

TEST_F(ModelControlTest, InAnotherModeRepositoriesStayAsTheyAre) {
  RecordedPaths paths;
  put<RepositoryPaths>(paths);
  start();
  const std::string refused = " is not allowed if model control mode is not EXPLICIT";
  EXPECT_EQ(text_of(server_->register_repository("/r", {})),
            "UNIMPLEMENTED: repository registration" + refused)
      << "nobody controls models";
  class None final : public ModelControl {
    std::string_view mode() const noexcept override { return "none"; }
    void load(std::string, std::vector<ModelControlParameter>, Done) noexcept override {}
    void unload(std::string, std::vector<ModelControlParameter>, Done) noexcept override {}
  } none;
  put<ModelControl>(none);
  EXPECT_EQ(text_of(server_->register_repository("/r", {})),
            "UNIMPLEMENTED: repository registration" + refused);
  EXPECT_EQ(text_of(server_->unregister_repository("/r")),
            "UNIMPLEMENTED: repository unregistration" + refused);
  EXPECT_TRUE(paths.calls.empty());
}

TEST_F(ModelControlTest, APollWaitsForItsEnd) {
  class HeldPoll final : public RepositoryPoll {
   public:
    void poll(Done done) noexcept override { held.set_value(std::move(done)); }
    std::promise<Done> held;
  } poll;
  start();
  EXPECT_EQ(text_of(server_->poll()), "UNAVAILABLE: polling is disabled");
  put<RepositoryPoll>(poll);
  std::string answer = "(none)";
  std::thread caller([&] { answer = text_of(server_->poll()); });
  poll.held.get_future().get()(unavailable("/r: gone"));
  caller.join();
  EXPECT_EQ(answer, "UNAVAILABLE: /r: gone");
}

}  // namespace
}  // namespace atl::frontends::c_api
