#include "frontends/common/call/call_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace atl::frontends {
namespace {

TEST(CallGate, HoldsTheHostsGateUntilItIsClosedAndEmpty) {
  Gate host;
  CallGate::Owner gate = CallGate::open(host);
  Pass call = gate->enter();
  ASSERT_TRUE(call);
  EXPECT_EQ(gate->calls(), 1);
  EXPECT_EQ(host.count(), 1);

  host.close();
  Pass late = gate->enter();
  EXPECT_TRUE(late) << "the host's drain alone turns nobody away";
  gate->close();
  EXPECT_FALSE(gate->enter());
  EXPECT_EQ(host.count(), 1);
  late.reset();
  EXPECT_EQ(host.count(), 1);
  call.reset();
  EXPECT_EQ(host.count(), 0);
}

TEST(CallGate, WithoutCallsClosingLetsGoAtOnce) {
  Gate host;
  CallGate::Owner gate = CallGate::open(host);
  gate->close();
  gate->close();
  EXPECT_EQ(host.count(), 0);
}

TEST(CallGate, CountsWhatComesWhenAsked) {
  Gate host;
  CallGate::Owner gate = CallGate::open(host);
  gate->enter();
  EXPECT_EQ(gate->begun(), 0u);
  gate->count_calls();
  gate->enter();
  gate->enter();
  EXPECT_EQ(gate->begun(), 2u);
}

TEST(CallGate, AnOwnerThatGoesAwayClosesIt) {
  Gate host;
  CallGate::open(host).reset();
  EXPECT_EQ(host.count(), 0);
}

TEST(CallGate, ManyThreadsThatLeaveWhileItClosesLetGoOnce) {
  for (int round = 0; round < 200; ++round) {
    Gate host;
    CallGate::Owner gate = CallGate::open(host);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&gate] {
        while (gate->enter()) {
        }
      });
    }
    gate->close();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(host.count(), 0);
  }
}

}  // namespace
}  // namespace atl::frontends
