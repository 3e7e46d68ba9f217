/// A device that executions share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "goodput/virtual_time.h"

namespace atl::goodput {

enum class Sharing : uint8_t {
  kEqual,  ///< k executions at a time take k times as long each, as kernels of several streams or threads do
  kOneByOne,  ///< the device takes them one after the other, in the order in which they come
};

class SharedDevice final : public EventSource {
 public:
  SharedDevice(VirtualTime& time, Sharing sharing) : time_(time), sharing_(sharing) { time.add(*this); }
  virtual ~SharedDevice() = default;

  /// Of a task: returns when the device has done so much.
  void execute(double work_ns) {
    catch_up();
    runs_.push_back({time_.current(), work_ns});
    time_.block();
  }
  int64_t busy_ns() const noexcept { return busy_ns_; }

  int64_t next_ns() const noexcept override {
    if (runs_.empty()) return INT64_MAX;
    double left_ns = runs_.front().left_ns;
    for (const Run& run : runs_) {
      if (sharing_ == Sharing::kEqual) left_ns = std::min(left_ns, run.left_ns);
    }
    return at_ns_ + static_cast<int64_t>(std::ceil(left_ns * crowd()));
  }
  void happen() override {
    catch_up();
    for (size_t i = 0; i < runs_.size();) {
      if (runs_[i].left_ns > 0.5) {
        ++i;
        continue;
      }
      time_.unblock(*runs_[i].fiber);
      runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

 private:
  struct Run {
    VirtualTime::Fiber* fiber;
    double left_ns;
  };
  double crowd() const noexcept {
    return sharing_ == Sharing::kEqual ? static_cast<double>(runs_.size()) : 1.0;
  }
  void catch_up() noexcept {
    const int64_t now_ns = time_.now_ns();
    if (!runs_.empty()) {
      busy_ns_ += now_ns - at_ns_;
      const double each_ns = static_cast<double>(now_ns - at_ns_) / crowd();
      for (Run& run : runs_) {
        run.left_ns -= each_ns;
        if (sharing_ == Sharing::kOneByOne) break;
      }
    }
    at_ns_ = now_ns;
  }

  VirtualTime& time_;
  const Sharing sharing_;
  std::vector<Run> runs_;
  int64_t at_ns_ = 0, busy_ns_ = 0;
};

}  // namespace atl::goodput
