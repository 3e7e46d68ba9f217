/// Models on demand, for tests of frontends: requests wait until the test says how that ended.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model_demand.h"

namespace atl::test {

/// [any]
class FakeModelDemand final : public ModelDemand, private CancelListener {
 public:
  explicit FakeModelDemand(ModelCatalog& catalog) : catalog_(catalog) {}
  virtual ~FakeModelDemand() = default;

  Status await(const WantedModel& wanted, ModelWaiter& waiter) noexcept override {
    std::unique_lock lock(mutex_);
    if (refuse) {
      if (Status refusal = refuse(wanted); !refusal.ok()) return refusal;
    }
    if (at_once) {
      lock.unlock();
      waiter.on_model(catalog_.acquire(wanted.name, wanted.version));
      return {};
    }
    const uint64_t id = ++last_;
    if (wanted.cancellation != nullptr && !wanted.cancellation->listen(this, reinterpret_cast<void*>(id))) {
      return Status(Code::kCancelled, {});
    }
    waiting_[id] = {std::string(wanted.name), wanted.version, &waiter, wanted.cancellation};
    return {};
  }
  std::string unloaded_reason(std::string_view) const noexcept override { return reason; }

  size_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  uint64_t cancelled() const noexcept { return cancelled_; }
  /// All that wait are told what the catalog says now, in the order they came.
  void notify() {
    end_all([this](const Waiting& one) { return catalog_.acquire(one.name, one.version); });
  }
  void fail(Code code, const std::string& message) {
    end_all([&](const Waiting&) -> Result<ModelRef> { return Status(code, message); });
  }

  /// Decides about a wait before it begins. Set before requests come, as the next.
  std::function<Status(const WantedModel&)> refuse;
  bool at_once = false;  ///< tells what the catalog says before await() returns
  std::string reason = "loaded on demand";

 private:
  struct Waiting {
    std::string name;
    int64_t version = 0;
    ModelWaiter* waiter = nullptr;
    Cancellation* cancellation = nullptr;
  };
  template <class Answer>
  void end_all(Answer&& answer) {
    std::map<uint64_t, Waiting> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(waiting_);
    }
    for (auto& [id, one] : ended) {
      if (one.cancellation != nullptr) one.cancellation->stop_listening();
      one.waiter->on_model(answer(one));
    }
  }
  void on_cancel(void*) noexcept override { ++cancelled_; }

  ModelCatalog& catalog_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Waiting> waiting_;
  uint64_t last_ = 0;
  std::atomic<uint64_t> cancelled_{0};
};

}  // namespace atl::test
