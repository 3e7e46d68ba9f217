#include "frontends/grpc_nghttp2/transport/tls/handshake_turns.h"

#include <gtest/gtest.h>

#include <memory>

#include "atoll/testing/fake_clock.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

struct CountingWaiter final : HandshakeTurns::Waiter {
  void on_handshake_turn() noexcept override {
    ++turns;
    if (again != nullptr) again->wait(*this);
  }
  int turns = 0;
  HandshakeTurns* again = nullptr;
};

TEST(HandshakeTurnsTest, OneHasItsTurnInATurnOfTheLoop) {
  test::FakeClock clock;
  EventLoop loop(clock);
  ASSERT_TRUE(loop.open().ok());
  HandshakeTurns handshakes(loop);
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
  loop.turn(0);
  EXPECT_EQ(first.turns, 1);
  EXPECT_EQ(second.turns, 0);
  loop.turn(0);
  EXPECT_EQ(first.turns, 1);
  EXPECT_EQ(second.turns, 1);
  first.again = nullptr;
  loop.turn(0);
  loop.turn(0);
  EXPECT_EQ(first.turns, 2);
  EXPECT_EQ(second.turns, 1);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
