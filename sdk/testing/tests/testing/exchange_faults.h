/// What the tests of the suites of exchanges share: providers that are right and ones that are broken on purpose.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/request/cancellation.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

enum class HeldFault { kNone, kForgetsTheGone, kAsksTheGoneToWait, kListensOn };

/// Exchanges that a provider keeps until their clients go or it drains.
/// \tparam Exchange  HttpExchange or GrpcExchange
template <class Exchange>
class HeldExchanges final : private CancelListener {
 public:
  /// \param thread  ends exchanges whose clients have gone; there before the first is held, and ends before this
  /// \param end  ends one exchange
  HeldExchanges(HeldFault fault, const SerialExecutorPtr& thread, std::function<void(Exchange&)> end)
      : fault_(fault), thread_(thread), end_(std::move(end)) {}
  virtual ~HeldExchanges() = default;

  void hold(Exchange& exchange) {
    std::lock_guard lock(mutex_);
    held_.push_back(&exchange);
    if (fault_ == HeldFault::kForgetsTheGone) return;
    if (exchange.cancellation().listen(this, &exchange)) return;
    if (fault_ != HeldFault::kAsksTheGoneToWait) on_cancel(&exchange);
  }
  /// \param before  is called with each one first
  void end_all(const std::function<void(Exchange&)>& before = {}) {
    std::vector<Exchange*> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (Exchange* exchange : held) {
      if (before) before(*exchange);
      end_one(*exchange);
    }
  }

 private:
  void on_cancel(void* context) noexcept override {
    thread_->post(make_task([this, exchange = static_cast<Exchange*>(context)] {
      {
        std::lock_guard lock(mutex_);
        if (std::erase(held_, exchange) == 0) return;
      }
      end_one(*exchange);
    }));
  }
  void end_one(Exchange& exchange) {
    if (fault_ == HeldFault::kListensOn) {
      end_(exchange);
      return exchange.cancellation().stop_listening();
    }
    exchange.cancellation().stop_listening();
    end_(exchange);
  }

  const HeldFault fault_;
  const SerialExecutorPtr& thread_;
  const std::function<void(Exchange&)> end_;
  std::mutex mutex_;
  std::vector<Exchange*> held_;
};

/// Says that a provider is broken. \param provider  an ExchangeProvider
/// \param fails  the checks that see the fault; empty: it is right
/// \param sees_seldom  the check that sees it if threads run so; empty: none
template <class Provider>
void expect_failures(const std::vector<std::string>& fails, const std::string& sees_seldom,
                     Provider* provider) {
  for (const std::string& check : fails)
    provider->exceptions.push_back(expected_failure(check, "on purpose"));
  if (!sees_seldom.empty()) {
    provider->exceptions.push_back(unsupported(sees_seldom, "whether it sees the fault is for the threads"));
  }
  provider->most_vain_wait = std::chrono::milliseconds(20);
}

}  // namespace atl::test
