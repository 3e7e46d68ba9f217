/// Running a function on a loop's thread.
#pragma once

#include <functional>
#include <utility>

#include "frontends/common/loop/event_loop.h"

namespace atl::frontends {

/// A function on its way to a loop; owns itself.
class PostedFunction final : public Posted {
 public:
  /// [any] Runs it once, in the order posted. What is not to be lost is posted before the loop's last turn.
  static void post(EventLoop& loop, std::function<void()> function) {
    loop.post(*new PostedFunction(std::move(function)));
  }

  void on_posted() noexcept override {
    function_();
    delete this;
  }

 private:
  explicit PostedFunction(std::function<void()> function) : function_(std::move(function)) {}
  virtual ~PostedFunction() = default;

  std::function<void()> function_;
};

}  // namespace atl::frontends
