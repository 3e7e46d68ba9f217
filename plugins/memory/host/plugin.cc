/// memory/host: CPU memory.
#include "atoll/core/plugin.h"

#include "atoll/core/metrics.h"
#include "atoll/lib/resident_memory.h"
#include "atoll/memory/request_memory.h"
#include "memory/host/budget_option.h"
#include "memory/host/host_memory.h"
#include "memory/host/memory_trim.h"
#include "memory/host/usable_memory.h"

namespace atl::memory {
namespace {

class HostMemoryPlugin final : public Plugin, public MetricSource, public RequestMemory {
 public:
  explicit HostMemoryPlugin(Host& host)
      : host_(host), memory_(host.options().get_bytes("limit")), trim_(host) {}
  Memory& memory() noexcept { return memory_; }
  RequestBudgetRef budget() noexcept override { return budget_; }

  Status init() override {
    const UsableMemory usable = usable_memory();
    Result<uint64_t> limit = budget_bytes(host_.options().get_string("request_budget"), usable.bytes);
    if (!limit.ok()) return std::move(limit).status();
    budget_->set_limit(limit.value());
    if (limit.value() == 0) {
      host_.log().info("what all requests together take of memory is not limited");
    } else {
      host_.log().info("all requests together may take ", size_text(limit.value()), " of memory; ",
                       usable.reason, ": ", size_text(usable.bytes));
    }
    return {};
  }
  Status start() override {
    if (!host_.options().get_bool("give_back")) return {};
    if (Status started = trim_.start(); !started.ok()) {
      host_.log().warning("memory that is not used is not given back: ", started.text());
    }
    return {};
  }
  void stop() override { trim_.stop(); }
  std::string holding() override {
    return memory_.used_bytes() == 0 ? std::string() : cat(memory_.used_bytes(), " bytes in use");
  }
  void collect(MetricSink& sink) const noexcept override {
    const MetricLabel labels[] = {{"instance", host_.instance_name()}};
    sink.family("atoll_request_memory_used_bytes", "Memory that requests in flight have reserved.",
                MetricKind::kGauge);
    sink.sample(labels, static_cast<double>(budget_->used_bytes()));
    sink.family("atoll_request_memory_peak_bytes", "The most that requests had reserved at a time.",
                MetricKind::kGauge);
    sink.sample(labels, static_cast<double>(budget_->peak_bytes()));
    sink.family("atoll_request_memory_limit_bytes",
                "Memory that all requests together may take; 0: not limited.", MetricKind::kGauge);
    sink.sample(labels, static_cast<double>(budget_->limit_bytes()));
    sink.family("atoll_request_memory_refused_total",
                "Times that a request was refused because all together would have taken more than the limit.",
                MetricKind::kCounter);
    sink.sample(labels, static_cast<double>(budget_->refused()));
  }

 private:
  Host& host_;
  HostMemory memory_;
  MemoryTrim trim_;
  const RequestBudgetRef budget_{0, "option request_budget of memory/host"};
};

constexpr OptionTable kOptions{
    option_bytes("limit", "0").help("Most bytes in use at a time; 0: no limit."),
    option_string("request_budget", "50%")
        .help("Memory that all requests together may take: bytes as a size (4GiB), or a share of what the "
              "process may use (50%); \"0\": no limit. Further requests are refused."),
    option_bool("give_back", true)
        .help("Returns memory that requests left in the allocator to the system: 24 MiB or more, when "
              "the process is quiet, or at most every 20 s to 600 s."),
};

void check_options(OptionCheck& check) {
  check.passes("request_budget", budget_bytes(check.options().get_string("request_budget"), 0));
}

}  // namespace

ATOLL_PLUGIN(HostMemoryPlugin,
             {.name = "memory/host",
              .version = "1.2.0",
              .license = "Apache-2.0",
              .help = "Gives out CPU memory, and bounds what requests take of it.",
              .provides = {provide<Memory, &HostMemoryPlugin::memory>().minor(Memory::kGrowableMinor),
                           provide<RequestMemory>(), provide<MetricSource>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::memory
