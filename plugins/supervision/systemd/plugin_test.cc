#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/reload_events.h"
#include "atoll/core/startup.h"
#include "atoll/testing/plugin_runner.h"
#include "supervision/systemd/notify_socket.h"
#include "supervision/systemd/testing/manager_double.h"

namespace atl::supervision {
namespace {

using test::FakeHost;
using test::ManagerDouble;
using test::PluginRunner;
using testing::ElementsAre;
using testing::IsEmpty;
using Messages = std::vector<std::string>;
using Server = ServerStateChanged::State;
using Reload = ReloadChanged::State;

constexpr const char* kServing1 = "READY=1\nSTATUS=serving, generation 1";

struct FakeStartup final : Startup {
  bool complete() const noexcept override { return is_complete; }
  bool is_complete = false;
};

class SystemdPluginTest : public testing::Test {
 protected:
  SystemdPluginTest() { set("NOTIFY_SOCKET", manager_.address()); }
  ~SystemdPluginTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  void server(Server state, uint64_t generation = 1) {
    ServerStateChanged event;
    event.state = state;
    event.generation = generation;
    host_.events().publish(event);
    host_.run_ready();
  }
  void reload(Reload state, uint64_t generation = 1, std::string_view reason = {}) {
    host_.events().publish(ReloadChanged{state, generation, reason}, false);
    host_.run_ready();
  }
  void start(PluginRunner& plugin) {
    server(Server::kStarting);
    ASSERT_TRUE(plugin.create_and_start().ok());
    host_.run_ready();
    ASSERT_THAT(manager_.take(), ElementsAre("STATUS=starting"));
  }
  void start_active(PluginRunner& plugin) {
    start(plugin);
    server(Server::kActive);
    EXPECT_EQ(manager_.take().front(), kServing1);
  }
  /// Until not even a socket that has sent nothing finds room: each may have only so much under way.
  void fill_queue() {
    std::vector<NotifySocket> senders;
    do {
      senders.push_back(NotifySocket::open(manager_.address()).value());
      while (senders.back().send("X=1").ok()) ++filled_;
    } while (NotifySocket::open(manager_.address()).value().send("X=1").ok() && ++filled_ != 0);
  }
  size_t warnings() { return host_.log().count(LogLevel::kWarning, ""); }

  ManagerDouble manager_;
  FakeHost host_{"systemd"};
  size_t filled_ = 0;
};

TEST_F(SystemdPluginTest, WithoutAServiceManagerItDoesNothing) {
  for (const char* address : {"", "unset"}) {
    std::string_view(address).empty() ? set("NOTIFY_SOCKET", address) : (void)::unsetenv("NOTIFY_SOCKET");
    set("WATCHDOG_USEC", "1000000");
    PluginRunner plugin(host_);
    ASSERT_TRUE(plugin.create_and_start().ok());
    server(Server::kActive);
    server(Server::kDraining);
    EXPECT_EQ(host_.simulation().pending_timers(), 0u);
  }
  EXPECT_THAT(manager_.take(), IsEmpty());
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(SystemdPluginTest, AnAddressThatIsNoneIsAWarning) {
  set("NOTIFY_SOCKET", "vsock:2:1234");
  PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  server(Server::kActive);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning,
                              "the service manager is not notified: NOTIFY_SOCKET: found 'vsock:2:1234'"),
            1u);
}

TEST_F(SystemdPluginTest, ReadyComesWhenTheModelsOfTheStartAreLoaded) {
  FakeStartup startup;
  host_.registry().publish<Startup>("models", startup);
  PluginRunner plugin(host_);
  start(plugin);
  server(Server::kActive);
  EXPECT_THAT(manager_.take(), ElementsAre("STATUS=loading models", "EXTEND_TIMEOUT_USEC=30000000"));
  host_.run_for(25 * kNsPerSecond);
  EXPECT_THAT(manager_.take(), ElementsAre("EXTEND_TIMEOUT_USEC=30000000", "EXTEND_TIMEOUT_USEC=30000000"))
      << "a long load takes as long as it takes";
  startup.is_complete = true;
  host_.run_for(kNsPerSecond);
  EXPECT_THAT(manager_.take(), ElementsAre(kServing1));
  host_.run_for(3600 * kNsPerSecond);
  EXPECT_THAT(manager_.take(), IsEmpty());
  EXPECT_EQ(host_.simulation().pending_timers(), 0u) << "without a watchdog nothing turns";
}

TEST_F(SystemdPluginTest, ReadyComesBeforeTheModelsIfAskedFor) {
  FakeStartup startup;
  host_.registry().publish<Startup>("models", startup);
  PluginRunner plugin(host_);
  start(plugin.set("ready_when", "plugins_started"));
  server(Server::kActive);
  EXPECT_THAT(manager_.take(), ElementsAre(kServing1));
}

TEST_F(SystemdPluginTest, AReloadIsToldFromItsBeginToItsEnd) {
  PluginRunner plugin(host_);
  start_active(plugin);
  const std::string begun = cat("RELOADING=1\nMONOTONIC_USEC=", host_.clock().now_ns() / kNsPerUs,
                                "\nSTATUS=reloading the manifest");
  reload(Reload::kBegun);
  EXPECT_THAT(manager_.take(), ElementsAre(begun));
  server(Server::kActive, 2);
  reload(Reload::kApplied, 2);
  EXPECT_THAT(manager_.take(), ElementsAre("READY=1\nSTATUS=serving, generation 2"));
  reload(Reload::kBegun, 2);
  reload(Reload::kRefused, 2, "a.toml:3:1: no such\nkey");
  EXPECT_THAT(
      manager_.take(),
      ElementsAre(begun,
                  "READY=1\nSTATUS=serving, generation 2; a reload was refused: a.toml:3:1: no such key"));
}

TEST_F(SystemdPluginTest, AReloadBeforeItIsReadyIsNotTold) {
  FakeStartup startup;
  host_.registry().publish<Startup>("models", startup);
  PluginRunner plugin(host_);
  start(plugin);
  server(Server::kActive);
  (void)manager_.take();
  reload(Reload::kBegun);
  server(Server::kActive, 2);
  reload(Reload::kApplied, 2);
  EXPECT_THAT(manager_.take(), ElementsAre("STATUS=loading models"));
  startup.is_complete = true;
  host_.run_for(kNsPerSecond);
  EXPECT_THAT(manager_.take(), ElementsAre("READY=1\nSTATUS=serving, generation 2"));
}

TEST_F(SystemdPluginTest, TheEndIsToldOnceAndNothingAfterIt) {
  PluginRunner plugin(host_);
  start_active(plugin);
  reload(Reload::kBegun);
  (void)manager_.take();
  server(Server::kDraining);
  reload(Reload::kRefused, 1, "told to end");
  plugin.stop();
  EXPECT_THAT(manager_.take(), ElementsAre("STOPPING=1\nSTATUS=finishing accepted requests"));
}

TEST_F(SystemdPluginTest, TheWatchdogHearsAtHalfOfItsPeriod) {
  set("WATCHDOG_USEC", "20000000");
  set("WATCHDOG_PID", std::to_string(::getpid()));
  PluginRunner plugin(host_);
  start(plugin);
  host_.run_for(60 * kNsPerSecond);
  EXPECT_THAT(manager_.take(), IsEmpty()) << "it is not due before the server is ready";
  server(Server::kActive);
  EXPECT_THAT(manager_.take(), ElementsAre(kServing1, "WATCHDOG=1"));
  host_.run_for(35 * kNsPerSecond);
  EXPECT_EQ(manager_.take(), Messages(3, "WATCHDOG=1"));
}

TEST_F(SystemdPluginTest, AControlThreadThatIsStuckSendsNothing) {
  set("WATCHDOG_USEC", "20000000");
  PluginRunner plugin(host_);
  start_active(plugin);
  (void)manager_.take();
  host_.simulation().run_until(host_.clock().now_ns() +
                               3600 * kNsPerSecond);  // everybody but the control thread
  EXPECT_THAT(manager_.take(), IsEmpty());
  EXPECT_EQ(host_.run_control(), 1u) << "what it has to do later does not pile up";
  EXPECT_THAT(manager_.take(), ElementsAre("WATCHDOG=1"));
}

TEST_F(SystemdPluginTest, AWatchdogOfAnotherProcessOrWithoutATimeIsNone) {
  struct Case {
    std::string period, pid;
    size_t warnings;
  };
  const std::string own = std::to_string(::getpid());
  for (const Case& c : {Case{"1000000", "1", 0}, Case{"1000000", "x", 0}, Case{"0", own, 1},
                        Case{"soon", own, 1}, Case{"-5", own, 1}, Case{"18446744073709551615", own, 1}}) {
    host_.log().clear();
    set("WATCHDOG_USEC", c.period);
    set("WATCHDOG_PID", c.pid);
    PluginRunner plugin(host_);
    start_active(plugin);
    host_.run_for(3600 * kNsPerSecond);
    EXPECT_THAT(manager_.take(), IsEmpty()) << c.period;
    EXPECT_EQ(warnings(), c.warnings) << c.period;
    EXPECT_EQ(host_.log().count(LogLevel::kWarning, cat("found '", c.period, "'")), c.warnings);
  }
}

TEST_F(SystemdPluginTest, ARemovedInstanceLeavesNothingThatWouldBeWaitedFor) {
  set("WATCHDOG_USEC", "20000000");
  PluginRunner plugin(host_);
  start_active(plugin);
  reload(Reload::kBegun);
  (void)manager_.take();
  plugin.stop();
  EXPECT_THAT(manager_.take(), ElementsAre("READY=1", "WATCHDOG_USEC=0"));
}

TEST_F(SystemdPluginTest, AnInstanceThatReplacesAnotherSwitchesTheWatchdogOnAgain) {
  set("WATCHDOG_USEC", "20000000");
  host_.set_replaces_running_instance(true);
  PluginRunner plugin(host_);
  start(plugin);
  server(Server::kActive, 2);
  const std::string again = "WATCHDOG=1\nWATCHDOG_USEC=20000000";
  EXPECT_THAT(manager_.take(), ElementsAre("READY=1\nSTATUS=serving, generation 2", again));
  host_.run_for(15 * kNsPerSecond);
  host_.set_replaces_running_instance(false);
  host_.run_for(20 * kNsPerSecond);
  EXPECT_THAT(manager_.take(), ElementsAre(again, again, "WATCHDOG=1"));
}

TEST_F(SystemdPluginTest, AManagerThatIsGoneIsLoggedOnceAndHarmsNothing) {
  set("NOTIFY_SOCKET", "/nowhere/notify");
  set("WATCHDOG_USEC", "20000000");
  PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  server(Server::kActive);
  host_.run_for(3600 * kNsPerSecond);
  reload(Reload::kBegun);
  reload(Reload::kApplied, 2);
  server(Server::kDraining);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning,
                              "the service manager is not reached: NOTIFY_SOCKET: No such file or directory"),
            1u);
}

TEST_F(SystemdPluginTest, WhatDoesNotFitIntoAFullQueueIsSentLater) {
  PluginRunner plugin(host_);
  start(plugin);
  fill_queue();
  server(Server::kActive);
  host_.run_for(kNsPerSecond);
  EXPECT_EQ(manager_.take(), Messages(filled_, "X=1"));
  host_.run_for(kNsPerSecond);
  EXPECT_THAT(manager_.take(), ElementsAre(kServing1));
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(SystemdPluginTest, AFullQueueThatStaysFullDoesNotGrow) {
  PluginRunner plugin(host_);
  start_active(plugin);
  fill_queue();
  for (uint64_t i = 2; i < 1000; ++i) reload(Reload::kApplied, i);
  (void)manager_.take();
  Messages late;
  while (host_.simulation().pending_timers() != 0) {
    host_.run_for(kNsPerSecond);
    for (std::string& message : manager_.take()) late.push_back(std::move(message));
  }
  EXPECT_EQ(late.size(), 16u);
  EXPECT_EQ(late.back(), "READY=1\nSTATUS=serving, generation 999");
}

}  // namespace
}  // namespace atl::supervision
