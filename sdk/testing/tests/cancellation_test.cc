#include "atoll/cancellation.h"

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

}  // namespace
}  // namespace atl
