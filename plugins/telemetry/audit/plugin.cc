/// telemetry/audit: writes down who has made which calls, and who was denied.
#include "atoll/core/plugin.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "atoll/core/metrics.h"
#include "atoll/core/reload_events.h"
#include "atoll/frontend/audit.h"
#include "telemetry/audit/audit_line.h"
#include "telemetry/audit/audit_log.h"
#include "telemetry/audit/audited_calls.h"

namespace atl::audit {
namespace {

class AuditPlugin final : public Plugin, public Audit, public MetricSource {
 public:
  explicit AuditPlugin(Host& host) : host_(host) {}

  Status init() override {
    const Options& options = host_.options();
    sample_.emplace(options.get_float("sample"));
    log_.emplace(RotatedFile(options.get_string("audit_file"), options.get_bytes("max_size"),
                             options.get_int("old_files")),
                 options.get_bytes("max_pending_size"), host_.clock(), host_.log());
    return {};
  }
  Status start() override {
    ATOLL_RETURN_IF_ERROR(log_->start(host_.executors()));
    return reloads_.open(host_.events(), {.overflow = Overflow::kDropOldest});
  }
  void stop() override {
    reloads_.reset();
    log_->stop();
  }

  // --- Audit ---
  bool wants(ApiCategory category, std::string_view category_name) noexcept override {
    return is_control(category, category_name) || sample_->takes_next();
  }
  void record(const AuditedCall& call) noexcept override {
    log_->add(audit_line(call, host_.clock().wall_ns()));
    if (call.rule.empty() && is_change(call)) host_.events().publish(control_call(call), /*retain=*/false);
  }

  // --- MetricSource ---
  void collect(MetricSink& sink) const noexcept override {
    const MetricLabel instance{"instance", host_.instance_name()};
    sink.family("atoll_audit_records_total", "Calls that were written to the audit log.",
                MetricKind::kCounter);
    sink.sample({&instance, 1}, static_cast<double>(log_->written()));
    sink.family("atoll_audit_dropped_total",
                "Calls that are missing in the audit log: too many waited, or it could not be written.",
                MetricKind::kCounter);
    sink.sample({&instance, 1}, static_cast<double>(log_->dropped()));
  }

 private:
  /// SIGHUP, whatever comes of it for the manifest.
  struct OnReload {
    AuditPlugin& plugin;
    void operator()(const ReloadChanged& event) const noexcept {
      if (event.state == ReloadChanged::State::kBegun) plugin.log_->reopen();
    }
  };

  Host& host_;
  std::optional<CallSample> sample_;
  std::optional<AuditLog> log_;
  Subscription<ReloadChanged, OnReload> reloads_{OnReload{*this}};
};

constexpr OptionTable kOptions{
    option_string("audit_file")
        .required()
        .state()
        .help(
            "Path of the log: one JSON object a line, for the owner's eyes only (mode 0600). Records are appended to a file that exists."),
    option_float("sample", 0.01)
        .range(0, 1)
        .help(
            "Share of the calls that are recorded although they were allowed and change nothing: inference, health, metadata, statistics, configurations, metrics. Denials and all other calls always are."),
    option_bytes("max_size", "100MiB")
        .range("0", "1TiB")
        .help("Size from which on the log is renamed to FILE.1 and a new one begun; 0: never."),
    option_int("old_files", 5)
        .range(0, 1000)
        .help("Files beside it that are kept, FILE.1 being the newest; older ones are removed."),
    option_bytes("max_pending_size", "4MiB")
        .range("64KiB", "1GiB")
        .help(
            "Bytes of records that wait to be written at most; further ones are dropped, counted, and said in the log."),
};

}  // namespace

ATOLL_PLUGIN(AuditPlugin,
             {.name = "telemetry/audit",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Records denied calls, calls that control the server, and a share of all others.",
              .provides = {provide<Audit>(), provide<MetricSource>()},
              .options = kOptions});

}  // namespace atl::audit
