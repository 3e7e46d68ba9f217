/// admission/deadlines: requests that cannot be answered in time are refused, executions are ordered by deadline.
#include "atoll/core/plugin.h"

#include <optional>

#include "admission/deadlines/deadline_admission.h"

namespace atl::deadlines {
namespace {

class DeadlinesPlugin final : public Plugin, public MetricSource {
 public:
  explicit DeadlinesPlugin(Host& host) : host_(host) {}

  Status init() override {
    DeadlineSettings settings;
    settings.rules.executions = static_cast<uint32_t>(host_.options().get_int("executions"));
    settings.cpu_parallel = static_cast<uint32_t>(host_.options().get_int("cpu_parallel"));
    settings.patience_ns = host_.options().get_duration_ns("patience");
    admission_.emplace(settings, host_.clock());
    return {};
  }
  ExecutionAdmission& execution_admission() noexcept { return *admission_; }
  RequestAdmission& request_admission() noexcept { return *admission_; }

 private:
  void collect(MetricSink& sink) const noexcept override { admission_->collect(sink); }

  Host& host_;
  std::optional<DeadlineAdmission> admission_;
};

constexpr OptionTable kOptions{
    option_int("executions", 1)
        .range(1, kRunsMax - 1)
        .help("Executions at a time on a device. Further ones begin beside the first only where a request "
              "would be late otherwise."),
    option_int("cpu_parallel", 1)
        .range(1, kRunsMax - 1)
        .help("Executions that the CPU runs at a time without one slowing another down: its cores over the "
              "threads of an execution."),
    option_duration("patience", "1s")
        .range("1ms", "1h")
        .help(
            "How long a request without deadline waits at most before it comes before those that have one."),
};

}  // namespace

ATOLL_PLUGIN(DeadlinesPlugin,
             {.name = "admission/deadlines",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Refuses requests that could not be answered in time, and orders the executions of all "
                      "models of a device by their deadlines.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .provides = {provide<ExecutionAdmission, &DeadlinesPlugin::execution_admission>().minor(
                               ExecutionAdmission::kShortagesMinor),
                           provide<RequestAdmission, &DeadlinesPlugin::request_admission>(),
                           provide<MetricSource>()},
              .options = kOptions});

}  // namespace atl::deadlines
