/// Conformance of "atoll.launcher/1".
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/pools/launcher.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

/// A launcher with what makes its engine go on.
class LauncherUnderTest {
 public:
  virtual ~LauncherUnderTest() = default;
  virtual Launcher& launcher() = 0;
  /// Something that the engine can run, but for id and number.
  virtual ServerSpec server() = 0;
  /// Returns when it is true, or false after a time in which a server would have been started and ended.
  virtual bool wait(const std::function<bool()>& is_true) = 0;
};

struct LauncherProvider {
  std::string name;
  std::function<std::shared_ptr<LauncherUnderTest>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const LauncherProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// What a launcher said. [any]
class RecordedServers final : public LauncherListener {
 public:
  virtual ~RecordedServers() = default;
  void server_running(std::string_view id, const ServerAddress& address) noexcept override {
    std::scoped_lock lock(mutex_);
    heard_.push_back(cat("running ", id));
    address_ = address;
  }
  void server_ended(std::string_view id, Status reason) noexcept override {
    std::scoped_lock lock(mutex_);
    heard_.push_back(cat("ended ", id));
    reason_ = reason.code();
  }
  std::vector<std::string> heard() const {
    std::scoped_lock lock(mutex_);
    return heard_;
  }
  bool has_heard(const std::string& what) const {
    const std::vector<std::string> all = heard();
    return std::find(all.begin(), all.end(), what) != all.end();
  }
  ServerAddress address() const {
    std::scoped_lock lock(mutex_);
    return address_;
  }
  Code reason() const {
    std::scoped_lock lock(mutex_);
    return reason_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  ServerAddress address_;
  Code reason_ = Code::kOk;
};

class LauncherConformance : public Conformance<LauncherProvider> {
 protected:
  static ServerSpec server(LauncherUnderTest& engine, uint32_t number) {
    ServerSpec server = engine.server();
    server.id = cat("conformance-", number);
    server.instance = number;
    return server;
  }
  using Texts = std::vector<std::string>;
};

TEST_P(LauncherConformance, AServerRunsAndEndsWhenItIsTold) {
  check([&] {
    const auto engine = GetParam().make();
    RecordedServers servers;
    engine->launcher().launch(server(*engine, 1), servers);
    ASSERT_TRUE(engine->wait([&] { return servers.has_heard("running conformance-1"); }));
    EXPECT_FALSE(servers.address().http.host.empty());
    EXPECT_NE(servers.address().http.port, 0);
    EXPECT_EQ(servers.heard(), Texts{"running conformance-1"});
    engine->launcher().end("conformance-1");
    ASSERT_TRUE(engine->wait([&] { return servers.has_heard("ended conformance-1"); }));
    EXPECT_EQ(servers.heard(), (Texts{"running conformance-1", "ended conformance-1"}));
    engine->launcher().forget(servers);
  });
}

TEST_P(LauncherConformance, AServerThatIsEndedBeforeItRunsEndsOnce) {
  check([&] {
    const auto engine = GetParam().make();
    RecordedServers servers;
    engine->launcher().launch(server(*engine, 1), servers);
    engine->launcher().end("conformance-1");
    ASSERT_TRUE(engine->wait([&] { return servers.has_heard("ended conformance-1"); }));
    EXPECT_FALSE(engine->wait([&] { return servers.heard().back() != "ended conformance-1"; }));
    const Texts heard = servers.heard();
    EXPECT_EQ(std::count(heard.begin(), heard.end(), "ended conformance-1"), 1);
    engine->launcher().forget(servers);
  });
}

TEST_P(LauncherConformance, ServersAreToldApart) {
  check([&] {
    const auto engine = GetParam().make();
    RecordedServers servers;
    for (uint32_t i = 1; i <= 3; ++i) engine->launcher().launch(server(*engine, i), servers);
    ASSERT_TRUE(engine->wait([&] { return servers.heard().size() == 3; }));
    engine->launcher().end("conformance-2");
    ASSERT_TRUE(engine->wait([&] { return servers.has_heard("ended conformance-2"); }));
    EXPECT_FALSE(servers.has_heard("ended conformance-1"));
    EXPECT_FALSE(servers.has_heard("ended conformance-3"));
    for (const char* id : {"conformance-1", "conformance-3"}) engine->launcher().end(id);
    ASSERT_TRUE(engine->wait([&] { return servers.heard().size() == 6; }));
    engine->launcher().forget(servers);
  });
}

TEST_P(LauncherConformance, WhatIsNotThereIsNotFoundAndNotEnded) {
  check([&] {
    const auto engine = GetParam().make();
    RecordedServers servers;
    engine->launcher().end("nobody");
    engine->launcher().adopt(server(*engine, 1), servers);
    ASSERT_TRUE(engine->wait([&] { return !servers.heard().empty(); }));
    EXPECT_EQ(servers.heard(), Texts{"ended conformance-1"});
    EXPECT_EQ(servers.reason(), Code::kNotFound);
    engine->launcher().forget(servers);
  });
}

TEST_P(LauncherConformance, AListenerThatIsForgottenHearsNothingAndItsServersAreFoundAgain) {
  check([&] {
    const auto engine = GetParam().make();
    RecordedServers first, second;
    engine->launcher().launch(server(*engine, 1), first);
    ASSERT_TRUE(engine->wait([&] { return first.has_heard("running conformance-1"); }));
    engine->launcher().forget(first);
    engine->launcher().adopt(server(*engine, 1), second);
    ASSERT_TRUE(engine->wait([&] { return second.has_heard("running conformance-1"); }));
    EXPECT_EQ(second.address().http.text(), first.address().http.text());
    engine->launcher().end("conformance-1");
    ASSERT_TRUE(engine->wait([&] { return second.has_heard("ended conformance-1"); }));
    EXPECT_EQ(first.heard(), Texts{"running conformance-1"});
    engine->launcher().forget(second);
  });
}

}  // namespace atl::test
