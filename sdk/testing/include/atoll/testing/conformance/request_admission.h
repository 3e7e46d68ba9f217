/// Conformance of "atoll.request_admission/1".
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "atoll/core/clock.h"
#include "atoll/request/request_admission.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

/// Real threads and the steady clock: requests are resumed on threads of the provider's.
struct RequestAdmissionProvider {
  std::string name;
  /// A fresh one that lets one request run at a time and, of those that come meanwhile, so many wait, if it
  /// limits; what it needs lives as long as the pointer.
  std::function<std::shared_ptr<RequestAdmission>(uint32_t waiting)> make;
  std::vector<ConformanceException> exceptions;
  /// What it does, at least one of the two; the checks of what it does not do are of the opposite then.
  /// Whether requests wait and are refused because of others. False: others make no difference, and nobody
  /// waits.
  bool limits = true;
  /// Makes of a request one that is refused for what it is; empty: there are none.
  std::function<void(TestRequest&)> deny = nullptr;
  /// Of one that counts tokens: a fresh one that lets everybody use so many and hardly any more in a minute.
  /// Empty: it does not count them.
  std::function<std::shared_ptr<RequestAdmission>(uint64_t tokens)> make_counting = nullptr;
  friend void PrintTo(const RequestAdmissionProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// A request and what has become of it. [any]
class AdmissionProbe final : public AdmissionWaiter {
 public:
  explicit AdmissionProbe(RequestAdmission& admission) : admission_(admission) {}
  virtual ~AdmissionProbe() = default;

  Result<AdmissionOutcome> ask() { return admission_.ask(*made, 0, *this, &ticket); }
  void resume(Request& request, Status outcome, const AdmissionTicket& given) noexcept override {
    std::scoped_lock lock(mutex_);
    own = own && &request == &*made;
    ticket = given;
    status = std::move(outcome);
    ++resumes;
    changed_.notify_all();
  }
  /// \returns false: not resumed within a minute
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return resumes != 0; });
  }
  int resumed() const {
    std::scoped_lock lock(mutex_);
    return resumes;
  }
  void use(uint64_t prompt, uint64_t generated) {
    admission_.used(ticket, {.prompt = prompt, .generated = generated});
  }
  void end() { admission_.ended(ticket); }

  TestRequest made;
  AdmissionTicket ticket;
  Status status;
  bool own = true;
  int resumes = 0;

 private:
  RequestAdmission& admission_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

class RequestAdmissionConformance : public Conformance<RequestAdmissionProvider> {
 protected:
  void make(uint32_t waiting) { admission_ = GetParam().make(waiting); }
  std::unique_ptr<AdmissionProbe> probe() const { return std::make_unique<AdmissionProbe>(*admission_); }
  /// One that is admitted, or null. Not always at once: another one that is being resumed goes before it.
  std::unique_ptr<AdmissionProbe> running() const {
    auto made = probe();
    auto outcome = made->ask();
    EXPECT_TRUE(is_ok(outcome));
    if (!outcome.ok()) return nullptr;
    if (*outcome == AdmissionOutcome::kWaits) {
      const bool in_time = made->wait();
      EXPECT_TRUE(in_time) << "waited a minute";
      if (!in_time) (void)made.release();  // the provider has it
      if (!in_time || !is_ok(made->status)) return nullptr;
    }
    return made;
  }

  /// A check of what others do to a request; of one that does not limit, that they do nothing.
  void check_limit(const std::function<void()>& body) {
    check([&] {
      if (GetParam().limits) return body();
      make(1);
      std::vector<std::unique_ptr<AdmissionProbe>> together;
      for (int i = 0; i < 100; ++i) {
        together.push_back(probe());
        auto outcome = together.back()->ask();
        ASSERT_TRUE(is_ok(outcome)) << i;
        ASSERT_EQ(*outcome, AdmissionOutcome::kAdmitted) << "says that nobody waits";
      }
      for (auto& one : together) {
        one->end();
        EXPECT_EQ(one->resumed(), 0);
      }
    });
  }

  /// One that waits behind those that asked before, or null.
  std::unique_ptr<AdmissionProbe> waiting() const {
    auto made = probe();
    auto outcome = made->ask();
    EXPECT_TRUE(is_ok(outcome));
    if (!outcome.ok()) return nullptr;
    EXPECT_EQ(*outcome, AdmissionOutcome::kWaits);
    return made;
  }

  std::shared_ptr<RequestAdmission> admission_;
};

TEST_P(RequestAdmissionConformance, OneRunsTheNextWaitsAndIsResumedOnce) {
  check_limit([&] {
    make(4);
    EXPECT_TRUE(admission_->active());
    auto first = running();
    ASSERT_NE(first, nullptr);
    auto second = waiting();
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->resumed(), 0);
    first->end();
    ASSERT_TRUE(second->wait());
    EXPECT_TRUE(is_ok(second->status));
    EXPECT_TRUE(second->own);
    second->end();
    EXPECT_NE(running(), nullptr) << "all is free again";
    EXPECT_EQ(first->resumed(), 0) << "it was admitted when it asked";
    EXPECT_EQ(second->resumed(), 1);
  });
}

TEST_P(RequestAdmissionConformance, TheyAreResumedInTheOrderInWhichTheyAsked) {
  check_limit([&] {
    make(8);
    auto holder = running();
    ASSERT_NE(holder, nullptr);
    std::vector<std::unique_ptr<AdmissionProbe>> probes;
    for (int i = 0; i < 8; ++i) {
      probes.push_back(waiting());
      ASSERT_NE(probes.back(), nullptr);
    }
    holder->end();
    for (size_t i = 0; i < probes.size(); ++i) {
      ASSERT_TRUE(probes[i]->wait());
      EXPECT_TRUE(is_ok(probes[i]->status));
      for (size_t later = i + 1; later < probes.size(); ++later)
        EXPECT_EQ(probes[later]->resumed(), 0) << later;
      probes[i]->end();
    }
  });
}

TEST_P(RequestAdmissionConformance, TooManyAreRefusedWithATimeToTryAgain) {
  check_limit([&] {
    make(1);
    auto holder = running();
    ASSERT_NE(holder, nullptr);
    auto waits = waiting(), refused = probe();
    ASSERT_NE(waits, nullptr);
    auto outcome = refused->ask();
    ASSERT_FALSE(outcome.ok());
    const Code code = outcome.status().code();
    EXPECT_TRUE(code == Code::kResourceExhausted || code == Code::kUnavailable) << outcome.status().text();
    EXPECT_NE(outcome.status().message(), "");
    EXPECT_GT(refused->made->retry_after_ms, 0u);
    holder->end();
    ASSERT_TRUE(waits->wait());
    waits->end();
    EXPECT_EQ(refused->resumed(), 0) << "it stays with the caller";
    EXPECT_NE(running(), nullptr);
  });
}

TEST_P(RequestAdmissionConformance, CancellingEndsTheWait) {
  check_limit([&] {
    make(4);
    auto holder = running();
    ASSERT_NE(holder, nullptr);
    auto cancelled = waiting(), stays = waiting();
    ASSERT_NE(cancelled, nullptr);
    ASSERT_NE(stays, nullptr);
    cancelled->made.cancel();
    ASSERT_TRUE(cancelled->wait());
    EXPECT_TRUE(is_failure(cancelled->status, Code::kCancelled));
    holder->end();
    ASSERT_TRUE(stays->wait());
    EXPECT_TRUE(is_ok(stays->status));
    stays->end();
    EXPECT_EQ(cancelled->resumed(), 1);
    auto late = probe();
    late->made.cancel();
    EXPECT_TRUE(is_failure(late->ask(), Code::kCancelled)) << "before it asks";
  });
}

TEST_P(RequestAdmissionConformance, ADeadlineEndsTheWait) {
  check_limit([&] {
    make(4);
    auto holder = running(), late = probe();
    ASSERT_NE(holder, nullptr);
    late->made->times.deadline_ns =
        std::chrono::steady_clock::now().time_since_epoch().count() + 20 * kNsPerMs;
    auto outcome = late->ask();
    if (outcome.ok()) {
      ASSERT_TRUE(late->wait());
      outcome = std::move(late->status);
    }
    EXPECT_TRUE(is_failure(outcome, Code::kDeadlineExceeded));
    holder->end();
    EXPECT_NE(running(), nullptr);
  });
}

TEST_P(RequestAdmissionConformance, TheDeniedAreRefusedAndStayWithTheCaller) {
  check([&] {
    make(4);
    EXPECT_TRUE(admission_->active());
    ASSERT_TRUE(GetParam().limits || GetParam().deny) << "declares nothing that it does";
    for (int i = 0; GetParam().deny && i < 3; ++i) {
      auto denied = probe();
      GetParam().deny(denied->made);
      auto outcome = denied->ask();
      ASSERT_FALSE(outcome.ok()) << "was denied";
      EXPECT_NE(outcome.status().message(), "");
      auto other = running();
      ASSERT_NE(other, nullptr) << "what was denied takes nothing from others";
      other->end();
      EXPECT_EQ(denied->resumed(), 0) << "it stays with the caller";
    }
  });
}

TEST_P(RequestAdmissionConformance, WhoHasUsedMoreTokensThanItMayIsRefused) {
  check([&] {
    if (!GetParam().make_counting) {
      make(1);
      EXPECT_FALSE(admission_->counts_tokens()) << "declares no tokens";
      return;
    }
    admission_ = GetParam().make_counting(100);
    EXPECT_TRUE(admission_->counts_tokens());
    auto first = running();
    ASSERT_NE(first, nullptr);
    first->use(60, 10);
    auto second = running();
    ASSERT_NE(second, nullptr) << "70 of 100 are no reason to refuse";
    first->use(0, 40);
    auto refused = probe();
    auto outcome = refused->ask();
    ASSERT_TRUE(is_failure(outcome, Code::kResourceExhausted)) << "110 of 100";
    EXPECT_NE(outcome.status().message(), "");
    EXPECT_GT(refused->made->retry_after_ms, 0U);
    second->use(0, 1);  // what runs goes on
    first->end();
    second->end();
    EXPECT_FALSE(probe()->ask().ok()) << "an end pays nothing back";
  });
}

TEST_P(RequestAdmissionConformance, ManyThreadsUseTokensThatAllCount) {
  check([&] {
    if (!GetParam().make_counting) return;  // the check above is of that
    constexpr uint64_t kThreads = 4, kUses = 1000;
    admission_ = GetParam().make_counting(2 * kThreads * kUses);
    auto request = running();
    ASSERT_NE(request, nullptr);
    const auto use_all = [&](AdmissionProbe& one) {
      std::vector<std::thread> threads;
      for (uint64_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
          for (uint64_t n = 0; n < kUses; ++n) one.use(1, 1);
        });
      }
      for (std::thread& thread : threads) thread.join();
    };
    use_all(*request);
    auto other = running();
    ASSERT_NE(other, nullptr) << "used up, and nothing more";
    other->use(2, 0);
    EXPECT_FALSE(probe()->ask().ok()) << "some did not count";
    request->end();
    other->end();
  });
}

TEST_P(RequestAdmissionConformance, ManyThreadsAreDeniedOrAdmittedEachOnce) {
  check([&] {
    if (!GetParam().deny) return;  // the next check is of the rest
    constexpr int kThreads = 4, kRequests = 500;
    make(kThreads);
    std::atomic<int> wrong = 0, denied = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Random random(static_cast<uint64_t>(i) + 1);
        for (int n = 0; n < kRequests; ++n) {
          auto request = probe();
          const bool deny = random.below(2) == 0;
          if (deny) GetParam().deny(request->made);
          auto outcome = request->ask();
          wrong += deny && outcome.ok();
          denied += deny;
          if (!outcome.ok()) continue;
          if (*outcome == AdmissionOutcome::kWaits && !request->wait()) {
            ++wrong;
            (void)request.release();  // the provider has it
            return;
          }
          if (request->status.ok()) request->end();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(denied, 0);
    EXPECT_NE(running(), nullptr) << "all is free again";
  });
}

TEST_P(RequestAdmissionConformance, ManyThreadsEachGetOneOutcomeAndOneRunsAtATime) {
  check_limit([&] {
    constexpr int kThreads = 4, kRequests = 500;
    make(kThreads);
    std::atomic<int> running_now = 0, together = 0, forgotten = 0, twice = 0, admitted = 0, waits = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Random random(static_cast<uint64_t>(i) + 1);
        for (int n = 0; n < kRequests; ++n) {
          auto request = probe();
          auto outcome = request->ask();
          bool runs = outcome.ok() && *outcome == AdmissionOutcome::kAdmitted;
          if (outcome.ok() && *outcome == AdmissionOutcome::kWaits) {
            ++waits;
            if (random.below(3) == 0) request->made.cancel();
            if (!request->wait()) {
              ++forgotten;
              (void)request.release();  // the provider has it
              return;
            }
            runs = request->status.ok();
            twice += request->resumed() != 1;
          }
          if (!runs) continue;
          ++admitted;
          together += ++running_now > 1;
          std::this_thread::yield();  // so that others ask meanwhile
          --running_now;
          request->end();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, 0) << "one at a time";
    EXPECT_GT(waits, 0) << "nothing was tested";
    EXPECT_EQ(forgotten, 0) << "waited a minute";
    EXPECT_EQ(twice, 0);
    EXPECT_GT(admitted, kThreads * kRequests / 3);
    EXPECT_NE(running(), nullptr) << "all is free again";
  });
}

}  // namespace atl::test
