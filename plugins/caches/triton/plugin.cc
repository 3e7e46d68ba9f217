/// caches/triton: answers that were given before, in a cache made for Triton.
#include "atoll/core/plugin.h"

#include <utility>

#include "atoll/triton/host.h"
#include "caches/triton/foreign_cache.h"
#include "caches/triton/triton_cache.h"

namespace atl::caches {
namespace {

constexpr OptionTable kOptions{
    option_string_list("directories")
        .help("Folders with a folder for each cache, where libtritoncache_<name>.so is looked for."),
    option_string("name").required().help("Name of the cache: <directory>/<name>/libtritoncache_<name>.so."),
    option_string_map("settings").help("Settings of the cache, \"<setting>\" = \"<value>\"."),
    option_int("threads", 4)
        .range(0, 64)
        .help("Threads that call the cache; calls with one key use one thread. 0: requests' own "
              "threads, without a time limit."),
    option_duration("timeout", "1s")
        .range("1ms", "60s")
        .help("A request does not wait longer for the cache: after that its answer is computed."),
    option_bytes("max_entry_size", "64MiB").range("1KiB", "1GiB").help("A larger answer is not kept."),
    option_bytes("write_buffer", "256MiB")
        .range("1MiB", "64GiB")
        .help("Memory for answers on their way to the cache; what does not fit is not kept."),
};

class TritonCachePlugin final : public Plugin, public MetricSource {
 public:
  explicit TritonCachePlugin(Host& host)
      : host_(host), log_scope_(host.log()), cache_(host, settings_from(host.options())) {}

  Status start() override {
    const Options& options = host_.options();
    Result<std::unique_ptr<ForeignCache>> library = ForeignCache::open(
        {options.get_string("name"), options.get_strings("directories"), options.get_map("settings")},
        host_.log());
    if (!library.ok()) return std::move(library).status();
    host_.log().info("the cache is ", library.value()->path());
    return cache_.start(std::move(library).value());
  }
  void stop() override { cache_.stop(); }
  void collect(MetricSink& sink) const noexcept override {
    cache_.collect(sink);
    metrics_.collect(sink);
  }
  ResponseCache& cache() noexcept { return cache_; }

 private:
  static TritonCacheSettings settings_from(const Options& options) {
    return {static_cast<uint32_t>(options.get_int("threads")), options.get_duration_ns("timeout"),
            options.get_bytes("max_entry_size"), options.get_bytes("write_buffer")};
  }

  Host& host_;
  triton::LogScope log_scope_;
  triton::MetricScope metrics_;
  TritonCache cache_;
};

void check_options(OptionCheck& check) {
  const Options& options = check.options();
  check.passes("name",
               ForeignCache::find({options.get_string("name"), options.get_strings("directories"), {}}));
}

}  // namespace

ATOLL_PLUGIN(
    TritonCachePlugin,
    {.name = "caches/triton",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Answers requests of models with response_cache from a cache made for Triton, if the same "
             "was asked before.",
     .provides = {provide<ResponseCache, &TritonCachePlugin::cache>(), provide<MetricSource>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::caches
