// Reloads in process: who is carried over, who is rebuilt, who waits for whom.
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/options_follower.h"
#include "atoll/runtime/system_clock.h"
#include "kernel_fixture.h"

namespace atl::kernel {
namespace {

const std::string kProvider = "use = 'fixtures/provider'";
const std::string kConsumer = "use = 'fixtures/consumer'";
const std::string kWatcher = "use = 'fixtures/watcher'";

class ReloadTest : public KernelFixture {
 protected:
  void expect_ok(Status status) { EXPECT_TRUE(status.ok()) << status.text(); }
};

TEST_F(ReloadTest, WhatDidNotChangeIsTheSameObject) {
  Instances all = {{"p", kProvider}, {"c", kConsumer}, {"w", kWatcher}};
  expect_ok(apply(all));
  const auto first = kernel_.lifecycle().instances();
  expect_ok(apply(all));
  EXPECT_EQ(kernel_.lifecycle().instances(), first);
  EXPECT_EQ(kernel_.lifecycle().generation(), 2u);
  EXPECT_TRUE(kernel_.lifecycle().idle());
}

TEST_F(ReloadTest, OnlyTheChangedOneIsRebuilt) {
  expect_ok(apply({{"p", kProvider}, {"c", kConsumer}}));
  const Instance* p = instance("p");
  const Instance* c = instance("c");
  expect_ok(apply({{"p", kProvider}, {"c", kConsumer + "\nsize = 2"}}));
  EXPECT_EQ(instance("p"), p);
  EXPECT_NE(instance("c"), c);
  settle();
  EXPECT_EQ(instance("p")->holders().size(), 1u);
}

TEST_F(ReloadTest, AChangedProviderRebuildsWhoRequiresItAndNotWhoWatches) {
  expect_ok(apply({{"p", kProvider}, {"c", kConsumer}, {"w", kWatcher}}));
  const Instance* c = instance("c");
  const Instance* w = instance("w");
  fixture::Probe* watcher = probe<fixture::Watcher>("w");
  kernel_.loop().run_ready();
  int64_t changes = watcher->changes();
  expect_ok(apply({{"p", kProvider + "\nsize = 2"}, {"c", kConsumer}, {"w", kWatcher}}));
  EXPECT_NE(instance("c"), c);
  EXPECT_EQ(instance("w"), w);
  EXPECT_TRUE(probe("p")->replaced_running_instance());
  kernel_.loop().run_ready();
  // p and c were replaced; both are told.
  EXPECT_EQ(watcher->changes(), changes + 2);
  EXPECT_FALSE(kernel_.lifecycle().idle()) << "the watcher still holds the old provider";
  watcher->let_go();
  settle();
}

const std::string kFollower = "use = 'fixtures/follower'";

/// OptionsFollowed events, by instance.
struct Followed {
  std::vector<std::string>* instances;
  void operator()(const OptionsFollowed& event) const { instances->emplace_back(event.instance.view()); }
};

TEST_F(ReloadTest, WhoFollowsItsOptionsGoesOnAndSoDoesWhoRequiresIt) {
  std::vector<std::string> told;
  runtime::InstanceEvents events(kernel_.events());
  Subscription<OptionsFollowed, Followed> subscription(Followed{&told});
  expect_ok(subscription.open(events));
  expect_ok(apply({{"p", kFollower}, {"c", kConsumer}}));
  const Instance* p = instance("p");
  const Instance* c = instance("c");
  expect_ok(apply({{"p", kFollower + "\nsize = 2"}, {"c", kConsumer}}));
  EXPECT_EQ(instance("p"), p);
  EXPECT_EQ(instance("c"), c);
  EXPECT_EQ(probe("p")->size(), 2);
  kernel_.loop().run_ready();
  // The same once more is no change; what it was made with is one.
  expect_ok(apply({{"p", kFollower + "\nsize = 2"}, {"c", kConsumer}}));
  expect_ok(apply({{"p", kFollower}, {"c", kConsumer}}));
  EXPECT_EQ(instance("p"), p);
  EXPECT_EQ(probe("p")->size(), 1);
  kernel_.loop().run_ready();
  EXPECT_EQ(told, (std::vector<std::string>{"p", "p"}));
}

TEST_F(ReloadTest, WhatAnInstanceCanNotFollowBuildsItAnew) {
  expect_ok(apply({{"p", kFollower}, {"c", kConsumer}}));
  const Instance* p = instance("p");
  const Instance* c = instance("c");
  expect_ok(apply({{"p", kFollower + "\nsize = 6"}, {"c", kConsumer}}));
  EXPECT_NE(instance("p"), p);
  EXPECT_NE(instance("c"), c);
  EXPECT_EQ(probe("p")->size(), 6);
  settle();
}

TEST_F(ReloadTest, ARefusedReloadIsFollowedByNobody) {
  expect_ok(apply({{"p", kFollower}}));
  EXPECT_FALSE(apply({{"p", kFollower + "\nsize = 2"}, {"x", kProvider + "\nfail = 'start'"}}).ok());
  EXPECT_EQ(probe("p")->size(), 1);
  expect_ok(apply({{"p", kFollower + "\nsize = 2"}}));
  EXPECT_EQ(probe("p")->size(), 2);
}

TEST_F(ReloadTest, AddedOnesReplaceNobody) {
  const size_t kernels_own = kernel_.services().services();
  expect_ok(apply({{"p", kProvider}}));
  EXPECT_FALSE(probe("p")->replaced_running_instance());
  expect_ok(apply({{"p", kProvider}, {"q", kProvider}}));
  EXPECT_FALSE(probe("q")->replaced_running_instance());
  EXPECT_EQ(kernel_.services().services(), kernels_own + 2);
  expect_ok(apply({{"q", kProvider}}));
  settle();
  EXPECT_EQ(kernel_.services().services(), kernels_own + 1);
  EXPECT_EQ(probe("p"), nullptr);
}

TEST_F(ReloadTest, AHolderBlocksTheUnloadAndIsNamed) {
  expect_ok(apply({{"p", kProvider}, {"w", kWatcher}}));
  std::shared_ptr<Instance> old = kernel_.lifecycle().instances().front();
  ASSERT_EQ(old->name(), "p");
  expect_ok(apply({{"w", kWatcher}}));
  kernel_.loop().run_ready();
  EXPECT_EQ(old->state(), InstanceState::kDraining);
  EXPECT_EQ(old->held_by(), "services held by w (atoll.fixture/1)");
  probe<fixture::Watcher>("w")->let_go();
  settle();
  EXPECT_EQ(old->state(), kPluginsStayMapped ? InstanceState::kDestroyed : InstanceState::kUnloaded);
}

TEST_F(ReloadTest, PastTheDeadlineReloadsGoOnAndTheOldOneWaits) {
  expect_ok(apply({{"p", kProvider}, {"w", kWatcher}}));
  std::shared_ptr<Instance> old = kernel_.lifecycle().instances().front();
  expect_ok(apply({{"p", kProvider + "\nsize = 2"}, {"w", kWatcher}}, kNsPerMs));
  const int64_t deadline_ns = kernel_.clock().now_ns() + kNsPerMs;
  kernel_.loop().run_until([&] { return kernel_.clock().now_ns() > deadline_ns; });
  kernel_.loop().run_ready();
  EXPECT_EQ(old->state(), InstanceState::kDraining);
  expect_ok(apply({{"p", kProvider + "\nsize = 3"}}));
  settle();
  EXPECT_EQ(probe("p")->size(), 3);
  EXPECT_NE(old->state(), InstanceState::kDraining);
}

TEST_F(ReloadTest, OldGenerationsRetireInTheBackgroundButNotAnyNumber) {
  auto provider = [](int size) { return cat(kProvider, "\nsize = ", size); };
  for (int generation = 1; generation <= 5; ++generation) {
    EXPECT_EQ(kernel_.lifecycle().reload_waits_for(), "") << generation;
    expect_ok(apply({{"p", provider(generation)}, {"w", kWatcher}}));
    probe<fixture::Watcher>("w")->acquire_all();  // and keeps it
    kernel_.loop().run_ready();
  }
  EXPECT_EQ(kernel_.lifecycle().reload_waits_for(),
            "one of 4 old generations that retire: plugin 'p' (fixtures/provider): services held by w "
            "(2 x atoll.fixture/1); at most 3600 s");
  probe<fixture::Watcher>("w")->let_go();
  settle();
  EXPECT_EQ(kernel_.lifecycle().reload_waits_for(), "");
  EXPECT_EQ(probe("p")->size(), 5);
}

TEST_F(ReloadTest, WhatMayNotBeTwiceIsGoneBeforeItComesBack) {
  const std::string alone = R"(use = "fixtures/alone")";
  expect_ok(apply({{"p", alone}, {"w", kWatcher}}));
  probe<fixture::Watcher>("w")->acquire_all();  // and keeps it
  expect_ok(apply({{"p", alone + "\nsize = 2"}, {"w", kWatcher}}));
  kernel_.loop().run_ready();
  EXPECT_EQ(kernel_.lifecycle().reload_waits_for(), "") << "it takes over from the one before";
  probe<fixture::Watcher>("w")->acquire_all();
  expect_ok(apply({{"w", kWatcher}}));
  kernel_.loop().run_ready();
  EXPECT_EQ(kernel_.lifecycle().reload_waits_for(),
            "what was removed and may not be made again yet: plugin 'p' (fixtures/alone): services held by w "
            "(atoll.fixture/1); at most 3600 s");
  probe<fixture::Watcher>("w")->let_go();
  settle();
  EXPECT_EQ(kernel_.lifecycle().reload_waits_for(), "");
}

TEST_F(ReloadTest, AHolderThatStartedBeforeItsProviderIsToldToLetGo) {
  // The ensemble requires the watcher, which holds the ensemble: neither can end before the other began to
  // drain.
  expect_ok(apply({{"e", "use = 'fixtures/ensemble'"}, {"w", kWatcher}}));
  ASSERT_EQ(probe<fixture::Watcher>("w")->acquire_all(), 1);
  shut_down();
  EXPECT_TRUE(kernel_.lifecycle().idle());
  EXPECT_EQ(kernel_.services().leases(), 0u);
}

TEST_F(ReloadTest, StatesAreToldInOrder) {
  runtime::InstanceEvents bus(kernel_.events());
  std::string told;
  auto note = [&](const PluginStateChanged& event) {
    told += cat(state_name(event.state), event.generation, " ");
  };
  Subscription<PluginStateChanged, decltype(note)> subscription(note);
  SubscriptionOptions every;
  every.overflow = Overflow::kDropOldest;
  ASSERT_TRUE(subscription.open(bus, every).ok());
  expect_ok(apply({{"p", kProvider}}));
  kernel_.loop().run_ready();
  EXPECT_EQ(told, "declared1 resolved1 loaded1 created1 active1 ");
  told.clear();
  EXPECT_FALSE(apply({{"p", kProvider + "\nfail = 'start'"}}).ok());
  settle();
  EXPECT_EQ(told, "declared2 resolved2 loaded2 created2 failed2 ");
  told.clear();
  expect_ok(apply({}));
  settle();
  EXPECT_EQ(told, kPluginsStayMapped ? "draining1 stopped1 destroyed1 "
                                     : "draining1 stopped1 destroyed1 unloaded1 ");
}

TEST_F(ReloadTest, TheRetainedStateIsTheRunningGenerations) {
  expect_ok(apply({{"p", kProvider}}));
  EXPECT_FALSE(apply({{"p", kProvider + "\nfail = 'start'"}}).ok());
  settle();
  expect_ok(apply({{"p", kProvider + "\nsize = 2"}}));
  settle();
  runtime::InstanceEvents bus(kernel_.events());
  std::string told;
  auto note = [&](const PluginStateChanged& event) {
    told += cat(state_name(event.state), event.generation, " ");
  };
  Subscription<PluginStateChanged, decltype(note)> subscription(note);
  ASSERT_TRUE(subscription.open(bus).ok());
  kernel_.loop().run_ready();
  EXPECT_EQ(told, "active2 ");
}

}  // namespace
}  // namespace atl::kernel
