/// A scheduler of a kind of its own: models whose configuration has the parameter `ration` execute so many
/// requests and refuse the others, one at a time and each for itself.
#include "atoll/core/plugin.h"

#include <charconv>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "atoll/request/scheduler.h"
#include "model_config.pb.h"

namespace {

/// The parameter; empty: there is none.
std::string ration_of(std::string_view config) {
  inference::ModelConfig message;
  if (!message.ParseFromString(std::string(config))) return {};
  const auto parameter = message.parameters().find("ration");
  return parameter == message.parameters().end() ? std::string() : parameter->second.string_value();
}

/// Whoever finds the instance idle executes what has come, on its own thread.
class Rationed final : public atl::Scheduler {
 public:
  Rationed(const atl::SchedulerContext& context, uint64_t ration)
      : instance_(*context.instances.front().backend), reporter_(*context.reporter), left_(ration) {}

  atl::Status enqueue(atl::Request& request) noexcept override {
    {
      std::scoped_lock lock(mutex_);
      if (!accepting_ || left_ == 0) {
        return atl::unavailable(accepting_ ? "the ration is used up" : "the scheduler has stopped");
      }
      --left_;
      queue_.push_back(&request);
      if (std::exchange(is_busy_, true)) return {};
    }
    while (atl::Request* next = take()) execute(*next);
    return {};
  }
  void stop_accepting() noexcept override {
    std::scoped_lock lock(mutex_);
    accepting_ = false;
  }
  uint64_t in_flight() const noexcept override {
    std::scoped_lock lock(mutex_);
    return queue_.size() + (is_busy_ ? 1 : 0);
  }

 private:
  atl::Request* take() {
    std::scoped_lock lock(mutex_);
    is_busy_ = !queue_.empty();
    if (!is_busy_) return nullptr;
    atl::Request* next = queue_.front();
    queue_.pop_front();
    return next;
  }
  void execute(atl::Request& request) {
    atl::Request* const one[] = {&request};
    atl::Status status;
    if (request.cancelled()) {
      status = atl::Status(atl::Code::kCancelled, {});
    } else {
      status = instance_.execute({one, request.batch_weight()});
    }
    if (status.ok()) return;
    const bool cancelled = status.code() == atl::Code::kCancelled;
    reporter_.report_failure(request,
                             cancelled ? atl::FailureReason::kCanceled : atl::FailureReason::kBackend);
    atl::fail_request(request, std::move(status));
  }

  atl::BackendInstance& instance_;
  atl::InferenceReporter& reporter_;
  mutable std::mutex mutex_;
  std::deque<atl::Request*> queue_;
  uint64_t left_;
  bool is_busy_ = false;
  bool accepting_ = true;
};

class RationedPlugin final : public atl::Plugin, public atl::SchedulerProvider {
 public:
  explicit RationedPlugin(atl::Host&) {}

  std::string_view kind() const noexcept override { return "rationed"; }
  uint32_t serves(const atl::SchedulingDemand& demand) const noexcept override {
    return ration_of(demand.config).empty() ? atl::kDoesNotFit : atl::kFits + 1;
  }
  atl::Result<std::unique_ptr<atl::Scheduler>> create(
      const atl::SchedulerContext& context) noexcept override {
    if (!context.admissions.empty() || context.instances.front().spec->is_bound()) {
      return atl::unimplemented("the scheduler executes on the threads that bring requests, unasked");
    }
    const std::string text = ration_of(context.config);
    uint64_t ration = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), ration).ec != std::errc()) {
      return atl::invalid_argument("model '", context.model_name, "' has the ration '", text,
                                   "', expected a number");
    }
    return std::unique_ptr<atl::Scheduler>(new Rationed(context, ration));
  }
};

}  // namespace

ATOLL_PLUGIN(RationedPlugin, {.name = "tests/rationed",
                              .version = "1.0.0",
                              .license = "Apache-2.0",
                              .help = "Executes a number of requests and refuses the others.",
                              .provides = {atl::provide<atl::SchedulerProvider>()}});
