/// atl::KernelControl: what the server runs with, for those who show it, and what a manifest would change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/kernel_control.h"
#include "atoll/runtime/control_loop.h"
#include "atoll/runtime/option_values.h"

namespace atl::runtime {

/// An instance as it is, or as a manifest would have it.
struct DescribedInstance {
  InstanceOptions shown;
  OptionValues::Values values;  ///< of all its options, secrets included
};

DescribedInstance describe_instance(std::string_view instance, std::string_view plugin,
                                    std::span<const atoll_option_v1> table, const OptionValues& values);

/// \param why  by the instance's name: why it is made anew, ReloadChanges::kNew where it was not there, empty where it
///             goes on. Who is in `planned` is in it
std::vector<InstanceDifference> instance_differences(std::span<const DescribedInstance> running,
                                                     std::span<const DescribedInstance> planned,
                                                     const std::map<std::string, std::string>& why);

class ManifestControl final : public KernelControl {
 public:
  /// Both are called on the control thread. \param text  of a manifest; null: the file
  using Compare = std::function<Result<ManifestDifference>(const std::string* text)>;

  /// \param loop  outlives this object
  explicit ManifestControl(ControlLoop& loop) : loop_(loop) {}
  virtual ~ManifestControl() = default;

  /// From now on it compares and applies. \param apply  asks for a reload [any]
  void serve(Compare compare, std::function<void()> apply);
  /// What runs now. [control]
  void set_running(uint64_t generation, std::vector<DescribedInstance> instances);
  /// [control]
  uint64_t generation() const { return running()->generation; }
  std::span<const DescribedInstance> described() const { return described_; }

  std::shared_ptr<const RunningManifest> running() const noexcept override;
  void compare(std::optional<std::string> text, Compared done) noexcept override;
  Status apply() noexcept override;

 private:
  ControlLoop& loop_;
  std::vector<DescribedInstance> described_;
  Compare compare_;
  mutable std::mutex mutex_;  // guards the following
  std::shared_ptr<const RunningManifest> running_ = std::make_shared<const RunningManifest>();
  std::function<void()> apply_;
};

}  // namespace atl::runtime
