/// A model control that records what was asked of it.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model_control.h"

namespace atl::test {

/// Answers on the calling thread. [any]
class FakeModelControl final : public ModelControl {
 public:
  struct Call {
    bool load = false;
    std::string model;
    std::vector<ModelControlParameter> parameters;
  };
  virtual ~FakeModelControl() = default;

  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override {
    answer({true, std::move(model), std::move(parameters)}, done);
  }
  void unload(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override {
    answer({false, std::move(model), std::move(parameters)}, done);
  }
  std::vector<Call> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }

  /// How a call ends; empty: well. Set before the calls.
  std::function<Status(const Call&)> decide;

 private:
  void answer(Call call, const Done& done) {
    Status status = decide ? decide(call) : Status();
    {
      std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    done(std::move(status));
  }
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
};

}  // namespace atl::test
