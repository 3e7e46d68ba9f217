/// An instance that several admission plugins rule over.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "atoll/request/execution_admission.h"

namespace atl::models {

/// Asks the second one when the first one has admitted the execution, so what is waited for is always asked
/// for in the same order and no two instances can wait for each other.
class ChainedAdmission final : public AdmittedInstance, private AdmissionListener {
 public:
  /// \param first         null: the second one decides alone; callers then need not look at its minor
  /// \param second_minor  of the ExecutionAdmission that the second one is of
  ChainedAdmission(std::unique_ptr<AdmittedInstance> first, std::unique_ptr<AdmittedInstance> second,
                   uint32_t second_minor) noexcept
      : first_(std::move(first)),
        second_(std::move(second)),
        second_minor_(second_minor),
        second_follows_(second_minor >= ExecutionAdmission::kQueueMinor && second_->follows_queue()) {}
  ~ChainedAdmission() override = default;

  bool holds_resources() const noexcept override {
    return (first_ != nullptr && first_->holds_resources()) || second_->holds_resources();
  }
  bool ask(AdmissionListener& listener, void* context, bool insists) noexcept override;
  bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept override;
  void end(bool executed) noexcept override;
  bool withdraw() noexcept override;
  void insist() noexcept override;
  uint64_t turn() const noexcept override {
    return (first_ == nullptr ? 0 : first_->turn()) + second_->turn();
  }

  bool follows_queue() const noexcept override {
    return second_follows_ || (first_ != nullptr && first_->follows_queue());
  }
  void arrived(const WaitingRequest& request) noexcept override;
  void left(uint64_t weight) noexcept override;
  ExecutionGrant grant() noexcept override;
  void begins(uint32_t batch_size, uint64_t weight) noexcept override;
  std::vector<AdmissionShortage> shortages() const noexcept override;

 private:
  void admitted(void* context) noexcept override;
  void prepare(AdmissionListener& listener, void* context, bool insists) noexcept;
  bool ask_second() noexcept;

  const std::unique_ptr<AdmittedInstance> first_;
  const std::unique_ptr<AdmittedInstance> second_;
  const uint32_t second_minor_;
  const bool second_follows_;
  AdmissionListener* listener_ = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> insists_{false};
};

}  // namespace atl::models
