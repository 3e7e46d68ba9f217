#include "schedulers/common/instances/instance_dispatcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/fake_admission.h"
#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::FakeHost;
using test::TestRequest;

/// A dispatcher over fake instances and a source that gives each slot what was put aside for it.
class DispatcherTest : public ::testing::Test, private BatchSource {
 protected:
  void make(uint32_t instances, test::FakeAdmission* admission = nullptr) {
    specs.resize(instances);
    for (uint32_t i = 0; i < instances; ++i) {
      specs[i].name = cat("i", i);
      backends.push_back(std::make_unique<test::FakeInstance>(specs[i].name, behavior, host.clock()));
      scheduled.push_back({backends[i].get(), &specs[i]});
      if (admission == nullptr) continue;
      admitted.push_back(admission->add_instance({}).value());
      admissions.push_back(admitted.back().get());
    }
    SchedulerContext context;
    context.instances = scheduled;
    context.admissions = admissions;
    context.clock = &host.clock();
    context.executors = &host.executors();
    dispatcher =
        std::make_unique<InstanceDispatcher>(context, static_cast<BatchSource&>(*this), DispatcherLimits{});
    ASSERT_TRUE(dispatcher->start().ok());
  }
  InstanceSlot& slot(size_t i) { return dispatcher->slots()[i]; }
  void execute(InstanceSlot& one, TestRequest& request) {
    request.mark_accepted();
    one.clear_batch();
    one.add(*request);
    one.next = nullptr;
    dispatcher->run(&one, true);
  }
  std::vector<uint32_t> take_all() {
    std::vector<uint32_t> order;
    while (InstanceSlot* one = dispatcher->take_idle()) order.push_back(one->index());
    return order;
  }
  bool next_batch(InstanceSlot& one, uint32_t) noexcept override {
    came.push_back(one.index());
    if (next != nullptr && dispatcher->admit(one, false)) {
      one.clear_batch();
      one.add(**std::exchange(next, nullptr));
      return true;
    }
    dispatcher->put_idle(one);
    return false;
  }
  bool give_way(InstanceSlot& one, uint32_t) noexcept override {
    ++asked_to_give_way;
    if (!gives_way) return false;
    dispatcher->put_idle(one);
    return true;
  }

  bool prepare(InstanceSlot& one) noexcept override { return one.request_count() != 0; }

  FakeHost host{"dispatcher"};
  test::FakeBehavior behavior;
  std::vector<InstanceSpec> specs;
  std::vector<std::unique_ptr<test::FakeInstance>> backends;
  std::vector<ScheduledInstance> scheduled;
  std::vector<std::unique_ptr<AdmittedInstance>> admitted;
  std::vector<AdmittedInstance*> admissions;
  std::vector<uint32_t> came;  // to next_batch()
  TestRequest* next = nullptr;
  bool gives_way = false;
  uint32_t asked_to_give_way = 0;
  std::unique_ptr<InstanceDispatcher> dispatcher;
};

TEST_F(DispatcherTest, TheOneThatBecameIdleLastIsTheNext) {
  make(3);
  EXPECT_EQ(take_all(), (std::vector<uint32_t>{0, 1, 2}));
  for (uint32_t i : {1u, 2u, 0u}) EXPECT_TRUE(dispatcher->put_idle(slot(i)));
  EXPECT_EQ(take_all(), (std::vector<uint32_t>{0, 2, 1}));
}

TEST_F(DispatcherTest, AParticularInstanceIsTakenFromAmongTheOthers) {
  for (uint32_t wanted = 0; wanted < 3; ++wanted) {
    make(3);
    EXPECT_TRUE(dispatcher->take(slot(wanted)));
    EXPECT_EQ(dispatcher->idle_count(), 2u);
    EXPECT_FALSE(dispatcher->take(slot(wanted))) << "it is taken";
    std::vector<uint32_t> others = {0, 1, 2};
    std::erase(others, wanted);
    EXPECT_EQ(take_all(), others) << "in their order";
    EXPECT_TRUE(dispatcher->put_idle(slot(wanted)));
    EXPECT_TRUE(dispatcher->take(slot(wanted)));
    EXPECT_EQ(dispatcher->idle_count(), 0u);
    dispatcher.reset();
    scheduled.clear();
    backends.clear();
  }
}

TEST_F(DispatcherTest, AnExecutingInstanceIsNotTakenAndComesByItself) {
  make(2);
  TestRequest first, second;
  ASSERT_TRUE(dispatcher->take(slot(1)));
  execute(slot(1), first);
  EXPECT_FALSE(dispatcher->take(slot(1)));
  next = &second;
  second.mark_accepted();
  host.run_until_idle();
  EXPECT_TRUE(first.done() && second.done());
  EXPECT_EQ(came, (std::vector<uint32_t>{1, 1})) << "for the second request, and then for nothing";
  EXPECT_TRUE(dispatcher->take(slot(1)));
  EXPECT_EQ(backends[0]->executions(), 0u);
  EXPECT_EQ(backends[1]->executions(), 2u);
}

class GivingWayTest : public DispatcherTest {
 protected:
  /// Requests that wait whenever the instance asks for the next one.
  bool next_batch(InstanceSlot& one, uint32_t finished) noexcept override {
    if (waiting == requests.size()) return DispatcherTest::next_batch(one, finished);
    fill(one);
    return true;
  }
  void fill(InstanceSlot& one) {
    TestRequest& request = requests[waiting++];
    request.mark_accepted();
    one.clear_batch();
    one.add(*request);
  }
  void run_all() {
    make(1);
    ASSERT_TRUE(dispatcher->take(slot(0)));
    fill(slot(0));
    slot(0).next = nullptr;
    dispatcher->run(&slot(0), true);
    host.run_until_idle();
  }
  static constexpr uint32_t kUntilLight = ExecutionTime::kSamplesMin - 1;
  const uint32_t most = DispatcherLimits{}.inline_batches_max;
  std::vector<TestRequest> requests = std::vector<TestRequest>(60);
  size_t waiting = 0;
};

TEST_F(GivingWayTest, ALightInstanceLeavesItsThreadAfterSomeBatches) {
  gives_way = true;
  run_all();
  EXPECT_EQ(backends[0]->executions(), kUntilLight + most);
  EXPECT_EQ(waiting, kUntilLight + most);
  EXPECT_EQ(dispatcher->idle_count(), 1u);
}

TEST_F(GivingWayTest, WhereNobodyTakesItItGoesOn) {
  run_all();
  EXPECT_EQ(backends[0]->executions(), requests.size());
  EXPECT_EQ(asked_to_give_way, (requests.size() - kUntilLight) / most);
}

TEST_F(GivingWayTest, OneThatTakesItsTimeStays) {
  gives_way = true;
  behavior.on_execute = [this](const Batch&) {
    host.fake_clock().advance(10 * DispatcherLimits{}.light_execution_ns);
  };
  run_all();
  EXPECT_EQ(backends[0]->executions(), requests.size());
  EXPECT_EQ(asked_to_give_way, 0u);
}

TEST_F(DispatcherTest, WhoWaitsForAdmissionIsNotTaken) {
  test::FakeAdmission admission;
  make(2, &admission);
  admission.close(1);
  ASSERT_TRUE(dispatcher->take(slot(1)));
  EXPECT_FALSE(dispatcher->admit(slot(1), false));
  EXPECT_FALSE(dispatcher->put_idle(slot(1)));
  EXPECT_FALSE(dispatcher->take(slot(1)));
  TestRequest request;
  next = &request;
  request.mark_accepted();
  admission.open(1);
  host.run_until_idle();
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(dispatcher->take(slot(1)));
  EXPECT_TRUE(dispatcher->put_idle(slot(1)));
  dispatcher.reset();
  admitted.clear();
  for (const std::string& problem : admission.problems()) ADD_FAILURE() << problem;
}

class DispatcherRoomTest : public DispatcherTest {
 protected:
  void make_with_room(uint32_t capacity) {
    behavior.answer_later = true;
    behavior.capacity = capacity;
    make(1);
    ASSERT_TRUE(slot(0).has_limited_room());
  }
};

TEST_F(DispatcherRoomTest, OthersHaveNoLimitOfTheirRoom) {
  make(1);
  EXPECT_TRUE(dispatcher->takes_all());
  EXPECT_FALSE(slot(0).has_limited_room());
}

TEST_F(DispatcherRoomTest, AnInstanceThatWaitsForRoomIsNotIdleUntilItHasSoMuch) {
  make_with_room(2);
  EXPECT_FALSE(dispatcher->takes_all());
  TestRequest first, second;
  ASSERT_TRUE(dispatcher->take(slot(0)));
  execute(slot(0), first);
  host.run_until_idle();
  ASSERT_TRUE(dispatcher->take(slot(0))) << "it has room, so it is idle";
  execute(slot(0), second);
  host.run_until_idle();
  came.clear();
  ASSERT_TRUE(dispatcher->take(slot(0)));
  EXPECT_EQ(slot(0).backend().room(), 0u);
  slot(0).wait_for_room(2);
  EXPECT_FALSE(dispatcher->put_idle(slot(0)));
  EXPECT_EQ(dispatcher->idle_count(), 0u);
  host.run_until_idle();
  EXPECT_TRUE(came.empty());
  backends[0]->answer_held(1);
  EXPECT_TRUE(came.empty()) << "not on the thread that makes room";
  host.run_until_idle();
  EXPECT_EQ(came.size(), 1u) << "there is more room, though not enough: who waits looks again";
  backends[0]->answer_held();
  host.run_until_idle();
  EXPECT_EQ(dispatcher->idle_count(), 1u);
}

TEST_F(DispatcherRoomTest, RoomThatCameBeforeItWasWaitedForIsNotMissed) {
  make_with_room(1);
  TestRequest request;
  ASSERT_TRUE(dispatcher->take(slot(0)));
  execute(slot(0), request);
  host.run_until_idle();
  ASSERT_TRUE(dispatcher->take(slot(0)));
  came.clear();
  backends[0]->answer_held();
  slot(0).wait_for_room(1);  // decided when there was none
  EXPECT_FALSE(dispatcher->put_idle(slot(0)));
  host.run_until_idle();
  EXPECT_EQ(came.size(), 1u);
  EXPECT_EQ(dispatcher->idle_count(), 1u);
}

TEST_F(DispatcherRoomTest, NobodyIsToldAfterTheEnd) {
  make_with_room(1);
  TestRequest request;
  ASSERT_TRUE(dispatcher->take(slot(0)));
  execute(slot(0), request);
  host.run_until_idle();
  ASSERT_TRUE(dispatcher->take(slot(0)));
  slot(0).wait_for_room(1);
  EXPECT_FALSE(dispatcher->put_idle(slot(0)));
  came.clear();
  dispatcher.reset();
  backends[0]->answer_held();
  host.run_until_idle();
  EXPECT_TRUE(request.done());
  EXPECT_TRUE(came.empty());
}

}  // namespace
}  // namespace atl::schedulers
