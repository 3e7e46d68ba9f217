/// The services with one instance on a clock that is moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "admission/deadlines/deadline_admission.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_clock.h"

namespace atl::deadlines {

/// What a request is for, as far as admission looks.
inline ModelInfo named_model(std::string name) {
  ModelInfo info;
  info.name = std::move(name);
  info.version = 1;
  return info;
}

class AdmissionBench : public AdmissionListener {
 public:
  static constexpr int64_t kExecutionNs = 10 * kNsPerMs;
  static constexpr int kExecutions = 8;
  /// After teach().
  static constexpr int64_t kTaughtNs = kNsPerSecond + kExecutions * kExecutionNs;

  explicit AdmissionBench(int64_t target_ns = 0) : target_ns_(target_ns), instance(add("m")) {}
  virtual ~AdmissionBench() = default;

  std::unique_ptr<AdmittedInstance> add(std::string model) {
    ExecutionDemand demand;
    demand.model = std::move(model);
    demand.version = 1;
    demand.max_batch_size = 4;
    demand.latency_target_ns = target_ns_;
    return admission.add_instance(demand).value();
  }
  void execute(int64_t duration_ns, uint32_t size = 1) {
    ASSERT_TRUE(instance->ask(*this, nullptr, false));
    instance->begins(size, 0);
    clock.advance(duration_ns);
    instance->end(true);
  }
  /// So that it is known what a batch of one takes.
  void teach() {
    for (int i = 0; i < kExecutions; ++i) execute(kExecutionNs);
  }
  void admitted(void*) noexcept override { ++told; }

  test::FakeClock clock;
  DeadlineAdmission admission{{{1}, 1, kNsPerSecond}, clock};

 private:
  const int64_t target_ns_;

 public:
  std::unique_ptr<AdmittedInstance> instance;
  int told = 0;
};

}  // namespace atl::deadlines
