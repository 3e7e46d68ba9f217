/// admission/quotas: which requests may run: quotas of tenants, fair shares, protection against overload.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "admission/quotas/request_gate.h"
#include "admission/quotas/settings.h"
#include "atoll/core/options_follower.h"
#include "atoll/request/queue_metrics.h"

namespace atl::quotas {
namespace {

/// Threads that resume requests that waited: enough not to be in the way of models that run on them.
constexpr uint32_t kResumeThreadsMax = 4;

class QuotasPlugin final : public Plugin, public MetricSource, public QueueMetrics, public OptionsFollower {
 public:
  explicit QuotasPlugin(Host& host) : host_(host) {}

  Status init() override {
    Result<RequestOptions> options = read_options(host_.options());
    if (!options.ok()) return std::move(options).status();
    active_ = options->active;
    gate_.emplace(std::move(options->settings), active_, host_.clock());
    return {};
  }
  Status start() override {
    return gate_->start(host_.executors(),
                        std::clamp(std::thread::hardware_concurrency(), 1U, kResumeThreadsMax));
  }
  void stop() override { gate_->stop(); }
  /// Whether anything is limited at all is not followed: threads come and go with that.
  bool can_follow(const Options& next) noexcept override {
    Result<RequestOptions> options = read_options(next);
    return options.ok() && options->active == active_;
  }
  void follow(const Options& next) noexcept override {
    if (active_) gate_->follow(std::move(read_options(next)->settings));
  }
  RequestAdmission& request_admission() noexcept { return *gate_; }
  std::string holding() override {
    const uint64_t requests = gate_->in_flight();
    return requests == 0 ? std::string() : cat(requests, " requests that were asked for");
  }

 private:
  void collect(MetricSink& sink) const noexcept override { gate_->collect(sink); }

  Host& host_;
  bool active_ = false;
  std::optional<RequestGate> gate_;
};

constexpr OptionTable kOptions{
    option_string_list("tenants").help(
        "Quotas of tenants, \"NAME:weight=2,concurrency=8,rate=100/s,burst=20,tokens=60000/min,queue=50\" each, "
        "with any of the parts. Which header names a request's tenant is an option of the frontends."),
    option_string("default_tenant", "")
        .help("Quota of requests whose tenant is not in 'tenants', in the same form; empty: no limit."),
    option_string("unknown_tenants", "shared")
        .choices("shared|separate")
        .help("Whether requests of tenants that are not named share one quota, or have one for each name."),
    option_int("max_unknown_tenants", 1024)
        .range(1, 1000000)
        .help("Tenants that are not named and have a quota of their own at a time; further ones share one."),
    option_int("request_concurrency", 0)
        .range(0, 1000000000)
        .help("Requests that run at a time, of all tenants together; further ones wait, and get their turns "
              "by the tenants' weights. 0: any number."),
    option_duration("max_request_wait", "10s")
        .range("0s", "87600h")
        .help("The longest that a request waits for its turn; then it is refused. 0s: as long as it takes."),
    option_int("overload_in_flight", 0)
        .range(0, 1000000000)
        .help("Largest number of requests that run or wait; further ones are refused. Priority 1 may "
              "use all of it, priority 2 90 %, priority 3 80 %, and so on, but at least 50 %. 0: no "
              "limit."),
    option_duration("overload_queue_delay", "0s")
        .range("0s", "1h")
        .help("New requests are refused while waits have stayed above this for overload_interval. "
              "Needs request_concurrency. 0s: never."),
    option_duration("overload_interval", "100ms")
        .range("1ms", "1h")
        .help(
            "For how long every request has to wait longer than overload_queue_delay before new ones are refused."),
};

}  // namespace

ATOLL_PLUGIN(
    QuotasPlugin,
    {.name = "admission/quotas",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Lets requests run as far as the quotas of their tenants and the load of the server allow.",
     .flags = ATOLL_PLUGIN_SINGLETON,
     .provides = {provide<RequestAdmission, &QuotasPlugin::request_admission>().minor(1),
                  provide<MetricSource>(), provide<QueueMetrics>(), provide<OptionsFollower>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::quotas
