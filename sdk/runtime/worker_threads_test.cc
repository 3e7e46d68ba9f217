#include "atoll/runtime/worker_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>

namespace atl::runtime {
namespace {

TEST(WorkerThreads, RunsSeveralAtOnceButNotMoreThanItsSize) {
  WorkerThreads workers(2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  std::promise<void> two_inside;
  std::promise<void> all_done;
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  for (int i = 0; i < 4; ++i) {
    workers.run(make_task([&, may_go] {
      int now = inside.fetch_add(1) + 1;
      // Only the second one in can be the first to see two; later ones come in after `go`.
      if (most.exchange(std::max(most.load(), now)) < 2 && now == 2) two_inside.set_value();
      may_go.wait();
      inside.fetch_sub(1);
      if (done.fetch_add(1) == 3) all_done.set_value();
    }));
  }
  two_inside.get_future().wait();
  go.set_value();
  all_done.get_future().wait();
  EXPECT_EQ(most.load(), 2);
}

TEST(WorkerThreads, DropsWhatHasNotBegun) {
  auto token = std::make_shared<int>(0);
  std::promise<void> entered;
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  {
    WorkerThreads workers(1);
    workers.run(make_task([&, may_go] {
      entered.set_value();
      may_go.wait();
    }));
    entered.get_future().wait();
    workers.resize(0);
    workers.run(make_task([token] {}));
    go.set_value();
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(WorkerThreads, SettlesWhenWhatRanAtTheMarkHasReturned) {
  std::promise<void> entered[2];
  std::promise<void> go[2];
  std::promise<void> told;
  WorkerThreads workers(2);
  EXPECT_TRUE(workers.settled(workers.mark(), nullptr)) << "nothing runs";
  auto block = [&](size_t i) {
    workers.run(make_task([&, i] {
      entered[i].set_value();
      go[i].get_future().wait();
    }));
    entered[i].get_future().wait();
  };
  block(0);
  const uint64_t mark = workers.mark();
  block(1);
  EXPECT_FALSE(workers.settled(mark, [&] { told.set_value(); }));
  go[0].set_value();
  told.get_future().wait();
  EXPECT_TRUE(workers.settled(mark, nullptr)) << "the other one began later";
  EXPECT_FALSE(workers.settled(workers.mark(), [] {}));
  go[1].set_value();
}

TEST(WorkerThreads, GrowsAndShrinks) {
  WorkerThreads workers(1);
  for (uint32_t size : {3u, 1u, 2u}) {
    workers.resize(size);
    std::promise<void> done;
    std::atomic<int> left{20};
    for (int i = 0; i < 20; ++i) {
      workers.run(make_task([&] {
        if (left.fetch_sub(1) == 1) done.set_value();
      }));
    }
    done.get_future().wait();
  }
}

TEST(WorkerThreads, ReportsTasksThatThrow) {
  std::promise<void> threw;
  WorkerThreads workers(1, [&] { threw.set_value(); });
  workers.run(make_task([] { throw std::runtime_error("x"); }));
  threw.get_future().wait();
}

}  // namespace
}  // namespace atl::runtime
