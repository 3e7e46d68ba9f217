/// Taking instances down, without waiting: what cannot be undone yet is looked at again when something was
/// let go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel/lifecycle/instance.h"

namespace atl::kernel {

/// [control]
class Retirement {
 public:
  /// \param instances    in start order; the last one goes first.
  /// \param deadline_ns  for all of them together, on the kernel's clock.
  Retirement(KernelContext& kernel, std::vector<std::shared_ptr<Instance>> instances, int64_t deadline_ns);
  ~Retirement() { kernel_.loop.cancel(timer_); }
  Retirement(const Retirement&) = delete;
  Retirement& operator=(const Retirement&) = delete;

  /// Goes as far as possible now. Called again by Lifecycle whenever the kernel is poked, and at the
  /// deadline. \returns the instances that ended.
  std::vector<std::shared_ptr<Instance>> step();
  bool done() const { return instances_.empty(); }
  /// The deadline has passed with somebody left: their holders have been logged.
  bool overrun() const { return overrun_; }
  /// One of these instances has to be gone before its plugin may be made again.
  bool bars_a_return() const;
  int64_t deadline_ns() const { return deadline_ns_; }
  /// Who keeps it from its end and with what, on one line.
  std::string held_by() const;

 private:
  std::shared_ptr<Instance> end_one();
  bool waits_for_earlier(size_t at) const;
  struct Holder {
    std::string who, what;
  };
  std::vector<Holder> holders() const;
  void report(LogLevel level) const;
  void look_again_at(int64_t now_ns);

  KernelContext& kernel_;
  std::vector<std::shared_ptr<Instance>> instances_;
  const int64_t begun_ns_;
  const int64_t deadline_ns_;
  TimerId timer_ = 0;
  size_t reports_ = 0;
  bool overrun_ = false;
};

}  // namespace atl::kernel
