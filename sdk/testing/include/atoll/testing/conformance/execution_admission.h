/// Conformance of "atoll.execution_admission/1".
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "atoll/request/execution_admission.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/random.h"

namespace atl::test {

struct ExecutionAdmissionProvider {
  std::string name;
  /// A fresh one in which instances that each need one copy of resource "R" of device 0 execute one at a
  /// time; what it needs lives as long as the pointer.
  std::function<std::shared_ptr<ExecutionAdmission>()> make;
  std::vector<ConformanceException> exceptions;
  bool tells_shortages = false;  ///< is of ExecutionAdmission::kShortagesMinor
  friend void PrintTo(const ExecutionAdmissionProvider& provider, std::ostream* out) {
    *out << provider.name;
  }
};

/// One instance and what it was told.
class AdmittedProbe final : public AdmissionListener {
 public:
  explicit AdmittedProbe(std::unique_ptr<AdmittedInstance> given) : instance(std::move(given)) {}
  virtual ~AdmittedProbe() = default;
  void admitted(void* context) noexcept override {
    right_context = right_context && context == this;
    ++told;
  }
  bool ask(bool insists = false) { return instance->ask(*this, this, insists); }
  bool ask_again() { return instance->ask_again(*this, this, false); }

  std::unique_ptr<AdmittedInstance> instance;
  std::atomic<int> told = 0;
  std::atomic<bool> right_context = true;
};

class ExecutionAdmissionConformance : public Conformance<ExecutionAdmissionProvider> {
 protected:
  ExecutionAdmissionConformance() : admission_(GetParam().make()) {}

  /// An instance of a model of its own that needs one copy of R, or nothing.
  std::unique_ptr<AdmittedProbe> add(bool needs_resource = true, uint32_t priority = 0) {
    ExecutionDemand demand;
    demand.model = cat("model_", ++added_);
    demand.version = 1;
    demand.instance = demand.model + "_0";
    demand.priority = priority;
    if (needs_resource) demand.resources = {{"R", 1, false}};
    auto instance = admission_->add_instance(demand);
    EXPECT_TRUE(is_ok(instance));
    if (!instance.ok()) return nullptr;
    EXPECT_NE(instance.value(), nullptr);
    return std::make_unique<AdmittedProbe>(std::move(instance).value());
  }

  std::shared_ptr<ExecutionAdmission> admission_;

 private:
  int added_ = 0;
};

TEST_P(ExecutionAdmissionConformance, NobodyWaitsWhoNeedsNothing) {
  check([&] {
    auto holder = add(), first = add(false), second = add(false);
    EXPECT_TRUE(holder->instance->holds_resources());
    EXPECT_FALSE(first->instance->holds_resources());
    EXPECT_TRUE(holder->ask());
    EXPECT_TRUE(first->ask());
    EXPECT_TRUE(second->ask());
    for (AdmittedProbe* probe : {holder.get(), first.get(), second.get()}) {
      probe->instance->end(true);
      EXPECT_EQ(probe->told, 0);
    }
  });
}

TEST_P(ExecutionAdmissionConformance, WhoWaitsIsToldOnceWhenItsTurnComes) {
  check([&] {
    auto first = add(), second = add();
    ASSERT_TRUE(first->ask());
    ASSERT_FALSE(second->ask());
    EXPECT_EQ(second->told, 0);
    first->instance->end(true);
    EXPECT_EQ(second->told, 1);
    EXPECT_TRUE(second->right_context);
    EXPECT_FALSE(second->instance->withdraw()) << "it does not wait any more";
    EXPECT_FALSE(first->ask()) << "second executes";
    second->instance->end(true);
    EXPECT_EQ(first->told, 1);
    first->instance->end(true);
    EXPECT_EQ(second->told, 1);
  });
}

TEST_P(ExecutionAdmissionConformance, WhoWithdrawsIsNotTold) {
  check([&] {
    auto holder = add(), quits = add(), stays = add();
    ASSERT_TRUE(holder->ask());
    ASSERT_FALSE(quits->ask());
    ASSERT_FALSE(stays->ask());
    EXPECT_TRUE(quits->instance->withdraw());
    EXPECT_FALSE(quits->instance->withdraw());
    holder->instance->end(true);
    EXPECT_EQ(quits->told, 0);
    EXPECT_EQ(stays->told, 1) << "what the one that withdrew would have got";
    stays->instance->end(true);
    EXPECT_TRUE(quits->ask()) << "it may ask again";
    quits->instance->end(true);
  });
}

TEST_P(ExecutionAdmissionConformance, AnUnusedTurnIsGivenBackAndDoesNotCount) {
  check([&] {
    auto first = add(), second = add();
    const uint64_t before = first->instance->turn();
    ASSERT_TRUE(first->ask());
    ASSERT_FALSE(second->ask());
    first->instance->end(false);
    EXPECT_EQ(second->told, 1);
    EXPECT_EQ(first->instance->turn(), before);
    second->instance->end(true);
    ASSERT_TRUE(first->ask());
    first->instance->end(true);
    EXPECT_GT(first->instance->turn(), before);
  });
}

TEST_P(ExecutionAdmissionConformance, WhoInsistsIsAdmittedBesideTheHolder) {
  check([&] {
    auto holder = add(), insists = add(), waits = add();
    ASSERT_TRUE(holder->ask());
    EXPECT_TRUE(insists->ask(true));
    ASSERT_FALSE(waits->ask());
    insists->instance->end(true);
    EXPECT_EQ(waits->told, 0) << "the holder still executes";
    waits->instance->insist();
    EXPECT_EQ(waits->told, 1);
    holder->instance->insist();  // does not wait: nothing happens
    EXPECT_EQ(holder->told, 0);
    waits->instance->end(true);
    holder->instance->end(true);
    EXPECT_TRUE(insists->ask()) << "all is free again";
    EXPECT_FALSE(waits->ask());
    insists->instance->end(true);
    EXPECT_EQ(waits->told, 2);
    waits->instance->end(true);
  });
}

TEST_P(ExecutionAdmissionConformance, ADestroyedInstanceGivesBackWhatItHolds) {
  check([&] {
    auto holder = add(), waits = add();
    ASSERT_TRUE(holder->ask());
    ASSERT_FALSE(waits->ask());
    holder.reset();
    EXPECT_EQ(waits->told, 1);
    waits->instance->end(true);
  });
}

TEST_P(ExecutionAdmissionConformance, WhoWaitsSaysForWhat) {
  check([&] {
    if (!GetParam().tells_shortages) return;
    auto holder = add(), waits = add();
    EXPECT_TRUE(holder->instance->shortages().empty()) << "it is idle";
    ASSERT_TRUE(holder->ask());
    ASSERT_FALSE(waits->ask());
    EXPECT_TRUE(holder->instance->shortages().empty()) << "it executes";
    const std::vector<AdmissionShortage> found = waits->instance->shortages();
    ASSERT_EQ(found.size(), 1u);
    if (!found[0].resource.empty()) {
      EXPECT_EQ(found[0].resource, "R");
      EXPECT_FALSE(found[0].global);
      EXPECT_EQ(found[0].device_id, 0);
      EXPECT_EQ(found[0].in_use, found[0].copies);
      EXPECT_EQ(found[0].kept, 0u);
      EXPECT_EQ(found[0].needed, 1u);
    }
    holder->instance->end(true);
    EXPECT_TRUE(waits->instance->shortages().empty()) << "it is admitted";
    waits->instance->end(true);
  });
}

TEST_P(ExecutionAdmissionConformance, TwoThatAlwaysWantShareByTheirPriority) {
  check([&] {
    auto high = add(true, 1), low = add(true, 2);
    std::array<int, 2> executions = {};
    ASSERT_TRUE(high->ask());
    ASSERT_FALSE(low->ask());
    bool high_executes = true;
    for (int i = 0; i < 3000; ++i) {
      AdmittedProbe& runs = high_executes ? *high : *low;
      AdmittedProbe& other = high_executes ? *low : *high;
      ++executions[high_executes ? 0 : 1];
      const int told = other.told;
      const bool goes_on = runs.ask_again();
      ASSERT_NE(goes_on, other.told != told) << "one of the two";
      if (!goes_on) high_executes = !high_executes;
    }
    EXPECT_NEAR(static_cast<double>(executions[0]) / executions[1], 2.0, 0.04);
    AdmittedProbe& runs = high_executes ? *high : *low;
    EXPECT_TRUE((high_executes ? *low : *high).instance->withdraw());
    runs.instance->end(true);
  });
}

TEST_P(ExecutionAdmissionConformance, ThreadsExecuteOneAtATimeAndNobodyIsForgotten) {
  check([&] {
    constexpr int kThreads = 4, kExecutions = 2000;
    /// Hands its turn to the thread that waits for it.
    struct Turn final : AdmissionListener {
      virtual ~Turn() = default;
      void admitted(void*) noexcept override {
        std::scoped_lock lock(mutex);
        come = true;
        changed.notify_one();
      }
      bool wait() {
        std::unique_lock lock(mutex);
        const bool in_time = changed.wait_for(lock, std::chrono::seconds(60), [&] { return come; });
        come = false;
        return in_time;
      }
      std::mutex mutex;
      std::condition_variable changed;
      bool come = false;
    };
    std::vector<std::unique_ptr<AdmittedProbe>> probes;
    for (int i = 0; i < kThreads; ++i) probes.push_back(add());
    std::atomic<int> executing = 0, together = 0, forgotten = 0, waits = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Random random(static_cast<uint64_t>(i) + 1);
        Turn turn;
        AdmittedInstance& instance = *probes[static_cast<size_t>(i)]->instance;
        for (int done = 0; done < kExecutions; ++done) {
          if (!instance.ask(turn, nullptr, false)) {
            ++waits;
            if (random.below(4) == 0 && instance.withdraw()) continue;
            if (!turn.wait()) {
              ++forgotten;
              return;
            }
          }
          together += ++executing > 1;
          std::this_thread::yield();  // so that others ask meanwhile
          --executing;
          instance.end(random.below(4) != 0);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, 0) << "there is one copy";
    EXPECT_GT(waits, 0) << "nothing was tested";
    EXPECT_EQ(forgotten, 0) << "waited a minute";
  });
}

}  // namespace atl::test
