/// caches/local: answers that were given before, in the server's memory.
#include "atoll/core/plugin.h"

#include "atoll/core/options_follower.h"
#include "caches/local/local_cache.h"

namespace atl::caches {
namespace {

constexpr OptionTable kOptions{
    option_bytes("size", "64MiB")
        .range("1KiB", "1024TiB")
        .help("Memory for all answers and their index; the least recently used answer is evicted "
              "first."),
    option_duration("ttl", "0s")
        .range("0s", "8760h")
        .help("Time after which an answer is no longer given. 0s: no limit."),
};

class LocalCachePlugin final : public Plugin, public OptionsFollower {
 public:
  explicit LocalCachePlugin(Host& host) : cache_(host, settings_from(host.options())) {}
  Status start() override { return cache_.start(); }
  void stop() override { cache_.stop(); }
  LocalCache& cache() noexcept { return cache_; }
  bool can_follow(const Options& /*next*/) noexcept override { return true; }
  void follow(const Options& next) noexcept override { cache_.follow(settings_from(next)); }

 private:
  static LocalCacheSettings settings_from(const Options& options) {
    LocalCacheSettings settings;
    settings.size_bytes = options.get_bytes("size");
    settings.ttl_ns = options.get_duration_ns("ttl");
    return settings;
  }

  LocalCache cache_;
};

}  // namespace

ATOLL_PLUGIN(
    LocalCachePlugin,
    {.name = "caches/local",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Answers requests of models with response_cache from memory, if the same was "
             "asked before.",
     .provides = {provide<ResponseCache, &LocalCachePlugin::cache>().minor(ResponseCache::kMemoryMinor),
                  provide<MetricSource, &LocalCachePlugin::cache>(), provide<OptionsFollower>()},
     .options = kOptions});

}  // namespace atl::caches
