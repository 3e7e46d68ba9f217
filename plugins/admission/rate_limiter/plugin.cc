/// admission/rate_limiter: which executions may run at the same time.
#include "atoll/plugin.h"

#include <optional>
#include <utility>

#include "rate_limiter.h"

namespace atl::admission {
namespace {

class RateLimiterPlugin final : public Plugin {
 public:
  explicit RateLimiterPlugin(Host& host) : host_(host) {}

  Status init() override {
    auto limits = ResourceLimits::parse(host_.options().get_strings("resources"));
    if (!limits.ok()) return std::move(limits).status().note("option 'resources'");
    limiter_.emplace(std::move(limits).value(), host_.clock());
    return {};
  }
  void* query(std::string_view id) override {
    if (void* executions = provide<ExecutionAdmission>(&*limiter_, id); executions != nullptr) {
      return executions;
    }
    return provide<MetricSource>(&*limiter_, id);
  }

 private:
  Host& host_;
  std::optional<RateLimiter> limiter_;
};

constexpr atoll_provided_v1 kProvides[] = {{ExecutionAdmission::kInterfaceId.data(), 0, 0},
                                           {MetricSource::kInterfaceId.data(), 0, 0}};

constexpr atoll_option_v1 kOptions[] = {
    {"resources", ATOLL_OPTION_STRING_LIST, 0, "[]", nullptr, nullptr, nullptr,
     "Copies of the resources that instance groups name, \"NAME:COUNT\" for every device or "
     "\"NAME:COUNT:DEVICE\"; if any is given, those left out have none. Empty: of each as many as the loaded "
     "instance that needs most of it."},
};

}  // namespace

ATOLL_PLUGIN(RateLimiterPlugin,
             {.name = "admission/rate_limiter",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Lets executions run at the same time as far as their resources reach.",
              .flags = ATOLL_PLUGIN_SINGLETON,
              .provides = kProvides,
              .options = kOptions});

}  // namespace atl::admission
