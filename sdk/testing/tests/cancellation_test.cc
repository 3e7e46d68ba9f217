#include "atoll/request/cancellation.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace atl {
namespace {

struct CountingListener final : CancelListener {
  virtual ~CountingListener() = default;
  void on_cancel(void* context) noexcept override {
    ++calls;
    last = context;
    if (after_stop) ++late_calls;
  }
  std::atomic<uint32_t> calls{0}, late_calls{0};
  std::atomic<bool> after_stop{false};
  std::atomic<void*> last{nullptr};
};

TEST(Cancellation, TellsTheListenerOnce) {
  Cancellation cancellation;
  CountingListener listener;
  int context = 0;
  EXPECT_FALSE(cancellation.cancelled());
  EXPECT_TRUE(cancellation.listen(&listener, &context));
  cancellation.cancel();
  cancellation.cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(listener.calls, 1u);
  EXPECT_EQ(listener.last, &context);
  cancellation.stop_listening();
}

TEST(Cancellation, ListeningTooLateIsRefused) {
  Cancellation cancellation;
  CountingListener listener;
  cancellation.cancel();
  EXPECT_FALSE(cancellation.listen(&listener, nullptr));
  EXPECT_EQ(listener.calls, 0u);
}

TEST(Cancellation, NobodyIsToldAfterStopListening) {
  Cancellation cancellation;
  CountingListener first, second;
  EXPECT_TRUE(cancellation.listen(&first, nullptr));
  cancellation.stop_listening();
  EXPECT_TRUE(cancellation.listen(&second, nullptr));
  cancellation.cancel();
  EXPECT_EQ(first.calls, 0u);
  EXPECT_EQ(second.calls, 1u);
}

TEST(Cancellation, ResetBeginsAnew) {
  Cancellation cancellation;
  cancellation.cancel();
  cancellation.reset();
  CountingListener listener;
  EXPECT_FALSE(cancellation.cancelled());
  EXPECT_TRUE(cancellation.listen(&listener, nullptr));
  cancellation.cancel();
  EXPECT_EQ(listener.calls, 1u);
}

TEST(Cancellation, RacingCancelsAndListenersAgree) {
  constexpr int kRounds = 2000;
  std::vector<Cancellation> cancellations(kRounds);
  std::vector<CountingListener> listeners(kRounds);
  std::vector<uint8_t> listened(kRounds);
  std::barrier together(3);
  auto cancel_all = [&] {
    for (Cancellation& cancellation : cancellations) {
      together.arrive_and_wait();
      cancellation.cancel();
    }
  };
  std::thread first(cancel_all), second(cancel_all);
  for (int i = 0; i < kRounds; ++i) {
    together.arrive_and_wait();
    listened[i] = cancellations[i].listen(&listeners[i], nullptr);
    cancellations[i].stop_listening();
    listeners[i].after_stop = true;
  }
  first.join();
  second.join();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(cancellations[i].cancelled());
    EXPECT_LE(listeners[i].calls, listened[i]) << "told without listening, or twice";
    EXPECT_EQ(listeners[i].late_calls, 0u) << "told after stop_listening() returned";
  }
}

TEST(Cancellation, WhoListensAndStaysIsAlwaysTold) {
  constexpr int kRounds = 2000;
  std::vector<Cancellation> cancellations(kRounds);
  std::vector<CountingListener> listeners(kRounds);
  std::barrier together(2);
  std::thread canceller([&] {
    for (Cancellation& cancellation : cancellations) {
      together.arrive_and_wait();
      cancellation.cancel();
    }
  });
  std::vector<uint8_t> listened(kRounds);
  for (int i = 0; i < kRounds; ++i) {
    together.arrive_and_wait();
    listened[i] = cancellations[i].listen(&listeners[i], nullptr);
  }
  canceller.join();
  for (int i = 0; i < kRounds; ++i) EXPECT_EQ(listeners[i].calls, listened[i]);
}

TEST(Cancellation, LinkedOnesAreCancelledWithIt) {
  Cancellation parent, first, second, gone;
  CountingListener listener;
  CancelLink to_first{&first}, to_second{&second}, to_gone{&gone};
  ASSERT_TRUE(first.listen(&listener, nullptr));
  parent.link(to_first);
  parent.link(to_gone);
  parent.link(to_second);
  parent.unlink(to_gone);
  first.stop_listening();
  ASSERT_TRUE(first.listen(&listener, &parent));

  parent.cancel();
  EXPECT_TRUE(first.cancelled());
  EXPECT_TRUE(second.cancelled());
  EXPECT_FALSE(gone.cancelled());
  EXPECT_EQ(listener.calls, 1u);
  EXPECT_EQ(listener.last, &parent);
  parent.unlink(to_second);
  parent.unlink(to_first);
}

TEST(Cancellation, AChildOfACancelledOneIsCancelledAtOnce) {
  Cancellation parent, child;
  parent.cancel();
  CancelLink link{&child};
  parent.link(link);
  EXPECT_TRUE(child.cancelled());
  parent.unlink(link);
}

TEST(Cancellation, LinksComeAndGoWhileItIsCancelled) {
  constexpr int kRounds = 2000;
  std::vector<Cancellation> parents(kRounds), stay(kRounds), go(kRounds);
  std::barrier together(2);
  std::thread canceller([&] {
    for (Cancellation& parent : parents) {
      together.arrive_and_wait();
      parent.cancel();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    CancelLink to_stay{&stay[i]}, to_go{&go[i]};
    parents[i].link(to_go);
    together.arrive_and_wait();
    parents[i].link(to_stay);
    parents[i].unlink(to_go);
    go[i].reset();  // nobody else reaches it: after unlink() it stays as it is
    while (!stay[i].cancelled()) std::this_thread::yield();
    parents[i].unlink(to_stay);
  }
  canceller.join();
  for (int i = 0; i < kRounds; ++i) EXPECT_FALSE(go[i].cancelled()) << "cancelled after unlink()";
}

}  // namespace
}  // namespace atl
