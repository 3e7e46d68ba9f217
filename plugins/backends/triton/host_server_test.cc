#include "backends/triton/host_server.h"

#include <gtest/gtest.h>

#include "atoll/models/model.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/followed_fake.h"

namespace atl::triton {
namespace {

/// Answers with what it was asked.
class FakeServer final : public TRITONSERVER_Server {
 public:
  virtual ~FakeServer() = default;
  Result<ModelRef> acquire(std::string_view, int64_t) noexcept override { return ModelRef(); }
  bool is_live() noexcept override { return true; }
  bool is_ready() noexcept override { return true; }
  Result<bool> is_model_ready(std::string_view model, int64_t) noexcept override { return model == "m"; }
  Result<std::string> metadata() noexcept override { return std::string("metadata"); }
  Result<std::string> model_metadata(std::string_view model, int64_t version) noexcept override {
    return cat("metadata of ", model, " ", version);
  }
  Result<std::string> model_config(std::string_view model, int64_t version) noexcept override {
    return cat("config of ", model, " ", version);
  }
  Result<std::string> statistics(std::string_view model, int64_t version) noexcept override {
    return cat("statistics of ", model, " ", version);
  }
  Result<std::string> index(bool ready_only) noexcept override {
    return cat("index ", ready_only ? "ready" : "all");
  }
  Status load(std::string_view model, const std::string*, std::vector<RepositoryFile>) noexcept override {
    return internal_error("load ", model);
  }
  Status unload(std::string_view model, bool) noexcept override { return internal_error("unload ", model); }
  Status poll() noexcept override { return internal_error("poll"); }
  Status register_repository(std::string_view path,
                             std::span<const std::pair<std::string, std::string>>) noexcept override {
    return internal_error("register ", path);
  }
  Status unregister_repository(std::string_view path) noexcept override {
    return internal_error("unregister ", path);
  }
  Result<std::string> metrics() noexcept override { return std::string("metrics"); }
};

/// One line for each function.
std::vector<std::string> answers_of(TRITONSERVER_Server& server) {
  auto text = [](const Result<std::string>& result) {
    return result.ok() ? result.value() : result.status().text();
  };
  return {server.acquire("m", 1).status().text(),
          server.is_live() ? "live" : "not live",
          server.is_ready() ? "ready" : "not ready",
          server.is_model_ready("m", 1).status().text(),
          text(server.metadata()),
          text(server.model_metadata("m", 1)),
          text(server.model_config("m", 2)),
          text(server.statistics("m", 3)),
          text(server.index(true)),
          server.load("m", nullptr, {}).text(),
          server.unload("m", false).text(),
          server.poll().text(),
          server.register_repository("/r", {}).text(),
          server.unregister_repository("/r").text(),
          text(server.metrics())};
}

TEST(HostServer, AsksWhoIsThere) {
  test::FakeHost host("triton");
  HostServer link(host);
  ASSERT_TRUE(link.open().ok());
  const std::string nobody =
      "no plugin provides atoll.triton_server/1, which answers calls of backends to the server";
  std::vector<std::string> without(15, nobody);
  without[1] = "not live";
  without[2] = "not ready";
  EXPECT_EQ(answers_of(link), without);
  EXPECT_EQ(link.poll().code(), Code::kUnavailable);
  FakeServer server;
  host.registry().publish<TRITONSERVER_Server>("c_api", server);
  test::publish_service_changed(host, TRITONSERVER_Server::kInterfaceId, "c_api");
  const std::vector<std::string> with = {"OK",
                                         "live",
                                         "ready",
                                         "OK",
                                         "metadata",
                                         "metadata of m 1",
                                         "config of m 2",
                                         "statistics of m 3",
                                         "index ready",
                                         "load m",
                                         "unload m",
                                         "poll",
                                         "register /r",
                                         "unregister /r",
                                         "metrics"};
  EXPECT_EQ(answers_of(link), with);
  link.close();
  EXPECT_EQ(answers_of(link), without);
  EXPECT_EQ(host.registry().holders(), 0u);
}

class DrainedLink : public ::testing::Test {
 protected:
  DrainedLink() {
    host_.registry().publish<TRITONSERVER_Server>("c_api", server_);
    EXPECT_TRUE(link_.open().ok());
  }
  ~DrainedLink() override {
    link_.close();
    EXPECT_EQ(host_.registry().holders(), 0u);
  }
  void exit() {
    ServerStateChanged event;
    event.state = ServerStateChanged::State::kDraining;
    host_.events().publish(event);
    host_.events().deliver();
  }
  void withdraw(std::string_view interface_id) {
    host_.registry().withdraw(std::string(interface_id), "c_api");
    ServiceChanged event;
    event.key_text = interface_id;
    event.interface_id = interface_id;
    event.kind = ServiceChanged::Kind::kWithdrawn;
    host_.events().publish(event, false);
    host_.events().deliver();
  }
  bool has_server() { return link_.metadata().ok(); }

  test::FakeHost host_{"triton"};
  FakeServer server_;
  HostServer link_{host_};
};

TEST_F(DrainedLink, AtTheServersEndItKeepsItUntilTheModelsGo) {
  exit();
  withdraw(TRITONSERVER_Server::kInterfaceId);
  EXPECT_TRUE(has_server());
  withdraw("atoll.other/1");
  EXPECT_TRUE(has_server());
  withdraw(ModelCatalog::kInterfaceId);
  EXPECT_FALSE(has_server());
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(DrainedLink, ByAReloadItGoesAtOnce) {
  withdraw(TRITONSERVER_Server::kInterfaceId);
  EXPECT_FALSE(has_server());
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(DrainedLink, WhoDrainsItselfKeepsNothing) {
  exit();
  withdraw(TRITONSERVER_Server::kInterfaceId);
  link_.let_go();
  EXPECT_FALSE(has_server());
  exit();
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(DrainedLink, WhoHasLetGoStillFollows) {
  exit();
  link_.let_go();
  EXPECT_TRUE(has_server());
  exit();
  withdraw(TRITONSERVER_Server::kInterfaceId);
  EXPECT_FALSE(has_server());
}

}  // namespace
}  // namespace atl::triton
