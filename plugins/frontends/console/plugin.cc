/// frontends/console: a page for those who operate the server, on the address of the HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>

#include "atoll/core/kernel_control.h"
#include "atoll/core/log_control.h"
#include "atoll/frontend/console_page.h"
#include "atoll/memory/request_memory.h"
#include "atoll/models/model_queues.h"
#include "atoll/request/queue_metrics.h"
#include "atoll/request/response_cache.h"
#include "atoll/request/trace_log.h"
#include "frontends/console/console_routes.h"

namespace atl::frontends::console {
namespace {

constexpr OptionTable kOptions{
    option_string_list("allowed_hosts", {"localhost", "127.0.0.1", "::1"})
        .help(
            "Names and addresses by which browsers may reach the console, without ports and brackets. Others are refused, so "
            "that no page of another site can read it under a name that was made to point here."),
    option_string_list("ignored_listeners", {"grpc", "metrics"})
        .help(
            "Instances that do not serve the console. Without a source of identities the console answers only if all other "
            "instances of the server that listen do so on the loopback."),
    option_duration("history_interval", "5s")
        .range("0s", "1m")
        .help(
            "Time between two points of the history, which has 180 of them; 0: there is none. It is longer where a look at all models "
            "would take more than 1 % of a processor."),
};

CallerRules rules_of(const Options& options) {
  return {options.get_strings("allowed_hosts"), options.get_strings("ignored_listeners")};
}

class Console final : public Plugin {
 public:
  explicit Console(Host& host) : host_(host) {}

  Status init() override {
    routes_.emplace(host_, rules_of(host_.options()), host_.options().get_duration_ns("history_interval"));
    return {};
  }
  Status start() override { return routes_->start(); }
  void stop() override { routes_->stop(); }
  ConsoleRoutes& routes() noexcept { return *routes_; }

 private:
  Host& host_;
  std::optional<ConsoleRoutes> routes_;
};

}  // namespace

ATOLL_PLUGIN(
    Console,
    {.name = "frontends/console",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Serves a page for operators on the HTTP frontend's address: models, requests, latencies.",
     .provides = {provide<HttpRoutes, &Console::routes>()},
     .needs = {need<ModelCatalog>().minor(4), optional<ModelControl>(), optional<Listeners>(),
               optional<LogControl>(), optional<KernelControl>(), optional<TraceLog>(),
               optional<ModelQueues>(), optional<RequestMemory>(), optional<ResponseCache>(), many<Access>(),
               many<ConsolePage>(), many<QueueMetrics>()},
     .options = kOptions});

}  // namespace atl::frontends::console
