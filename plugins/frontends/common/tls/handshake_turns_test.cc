#include "frontends/common/tls/handshake_turns.h"

#include <gtest/gtest.h>

#include <memory>

#include "atoll/testing/fake_clock.h"

namespace atl::frontends {
namespace {

struct CountingWaiter final : HandshakeTurns::Waiter {
  void on_handshake_turn() noexcept override {
    ++turns;
    if (again != nullptr) again->wait(*this);
  }
  void on_handshake_dropped() noexcept override {
    is_dropped = true;
    end_handshake();
  }
  void end() { end_handshake(); }
  int turns = 0;
  bool is_dropped = false;
  HandshakeTurns* again = nullptr;
};

class HandshakeTurnsTest : public ::testing::Test {
 protected:
  HandshakeTurnsTest() { EXPECT_TRUE(loop_.open().ok()); }

  test::FakeClock clock_;
  EventLoop loop_{clock_};
};

TEST_F(HandshakeTurnsTest, OneHasItsTurnInATurnOfTheLoop) {
  HandshakeTurns handshakes(loop_);
  CountingWaiter first;
  auto gone = std::make_unique<CountingWaiter>();
  CountingWaiter second;
  first.again = &handshakes;
  for (int i = 0; i < 2; ++i) {
    handshakes.wait(first);
    handshakes.wait(*gone);
    handshakes.wait(second);
  }
  gone.reset();
  loop_.turn(0);
  EXPECT_EQ(first.turns, 1);
  EXPECT_EQ(second.turns, 0);
  loop_.turn(0);
  EXPECT_EQ(first.turns, 1);
  EXPECT_EQ(second.turns, 1);
  first.again = nullptr;
  loop_.turn(0);
  loop_.turn(0);
  EXPECT_EQ(first.turns, 2);
  EXPECT_EQ(second.turns, 1);
}

TEST_F(HandshakeTurnsTest, WithOneTooManyTheOldestIsDropped) {
  HandshakeTurns handshakes(loop_, 2);
  CountingWaiter done;
  CountingWaiter slow;
  CountingWaiter third;
  CountingWaiter fourth;
  handshakes.begin(done);
  done.end();
  done.end();
  EXPECT_EQ(handshakes.under_way(), 0u);
  handshakes.begin(slow);
  handshakes.begin(third);
  EXPECT_FALSE(slow.is_dropped);
  handshakes.wait(slow);
  handshakes.begin(fourth);
  EXPECT_FALSE(done.is_dropped);
  EXPECT_TRUE(slow.is_dropped);
  EXPECT_FALSE(third.is_dropped);
  EXPECT_EQ(handshakes.under_way(), 2u);
  loop_.turn(0);
  EXPECT_EQ(slow.turns, 0) << "it has been dropped";
}

TEST_F(HandshakeTurnsTest, OneThatIsGoneCountsNoMore) {
  HandshakeTurns handshakes(loop_, 1);
  auto gone = std::make_unique<CountingWaiter>();
  handshakes.begin(*gone);
  gone.reset();
  EXPECT_EQ(handshakes.under_way(), 0u);
}

}  // namespace
}  // namespace atl::frontends
