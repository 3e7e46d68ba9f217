/// admission/rate_limiter: which executions may run at the same time.
#include "atoll/core/plugin.h"

#include <optional>
#include <utility>

#include "admission/rate_limiter/rate_limiter.h"
#include "atoll/core/moved_option.h"
#include "atoll/request/queue_metrics.h"

namespace atl::admission {
namespace {

class RateLimiterPlugin final : public Plugin, public MetricSource, public QueueMetrics {
 public:
  explicit RateLimiterPlugin(Host& host) : host_(host) {}

  Status init() override {
    auto limits = ResourceLimits::parse(host_.options().get_strings("resources"));
    if (!limits.ok()) return std::move(limits).status().note("option 'resources'");
    limiter_.emplace(std::move(limits).value(), host_.clock());
    return {};
  }
  ExecutionAdmission& execution_admission() noexcept { return *limiter_; }

 private:
  void collect(MetricSink& sink) const noexcept override { limiter_->collect(sink); }

  Host& host_;
  std::optional<RateLimiter> limiter_;
};

constexpr OptionTable kOptions{
    option_string_list("resources")
        .help("Copies of each resource, \"NAME:COUNT\" for every device or \"NAME:COUNT:DEVICE\". "
              "Resources that a list does not name have none. Empty: each has what the most demanding "
              "loaded instance needs."),
    option_moved("tenants", "admission/quotas"),
    option_moved("default_tenant", "admission/quotas"),
    option_moved("unknown_tenants", "admission/quotas"),
    option_moved("max_unknown_tenants", "admission/quotas"),
    option_moved("request_concurrency", "admission/quotas"),
    option_moved("max_request_wait", "admission/quotas"),
    option_moved("overload_in_flight", "admission/quotas"),
    option_moved("overload_queue_delay", "admission/quotas"),
    option_moved("overload_interval", "admission/quotas"),
};

void check_options(OptionCheck& check) { check.list("resources", &ResourceLimits::parse); }

}  // namespace

ATOLL_PLUGIN(RateLimiterPlugin,
             {.name = "admission/rate_limiter",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Lets executions run at the same time as far as their resources reach.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .provides = {provide<ExecutionAdmission, &RateLimiterPlugin::execution_admission>().minor(
                               ExecutionAdmission::kShortagesMinor),
                           provide<MetricSource>(), provide<QueueMetrics>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::admission
