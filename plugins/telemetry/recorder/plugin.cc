/// telemetry/recorder: writes requests and their answers to a file, to be replayed.
#include "atoll/core/plugin.h"

#include <optional>

#include "atoll/core/options_follower.h"
#include "telemetry/recorder/option_table.h"
#include "telemetry/recorder/recording_service.h"

namespace atl::recorder {
namespace {

class RecorderPlugin final : public Plugin, public OptionsFollower {
 public:
  explicit RecorderPlugin(Host& host) : service_(host, read_settings(host.options())) {}

  Status start() override { return service_.start(); }
  void stop() override { service_.stop(); }
  /// With another file it is another recording.
  bool can_follow(const Options& next) noexcept override { return service_.can_follow(read_settings(next)); }
  void follow(const Options& next) noexcept override { service_.follow(read_settings(next)); }
  RecordingService& service() noexcept { return service_; }

 private:
  RecordingService service_;
};

}  // namespace

ATOLL_PLUGIN(RecorderPlugin,
             {.name = "telemetry/recorder",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Records requests and their answers in a file, which atoll-replay plays.",
              .provides = {provide<RequestObserver, &RecorderPlugin::service>(),
                           provide<MetricSource, &RecorderPlugin::service>(), provide<OptionsFollower>()},
              .needs = {many<Memory>()},
              .options = kOptions});

}  // namespace atl::recorder
