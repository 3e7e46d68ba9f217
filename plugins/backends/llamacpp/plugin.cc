/// backends/llamacpp: language models in GGUF files, by llama.cpp.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <string>

#include "atoll/core/usable_cpus.h"
#include "backends/common/engine_folders.h"
#include "backends/common/own_file.h"
#include "backends/llamacpp/library/llama_library.h"
#include "backends/llamacpp/llama_backend.h"

namespace atl::llamacpp {
namespace {

constexpr OptionTable kOptions{
    option_int("threads", 0)
        .range(0, 512)
        .help(
            "Threads that compute a model's steps, for models that do not say; 0: half as many as the CPUs that "
            "the process may use (affinity, container quota), because they wait for each other all the time: "
            "one that is not running holds all of them up."),
    option_string("library", "")
        .help(
            "Folder of llama.cpp's libraries; empty: that of the installation (lib/atoll/engines/llamacpp)."),
    option_bool("probe", true)
        .help(
            "A file that was not served before is first loaded in a program of its own, so that one that is "
            "damaged does not end the server."),
    option_duration("probe_timeout", "120s")
        .at_least("1s")
        .help("How long that program may take for one file."),
    option_bytes("probe_memory", "8GiB")
        .at_least("64MiB")
        .help("Memory that the program may ask for, beside three times the file's size."),
};

class LlamaPlugin final : public Plugin {
 public:
  explicit LlamaPlugin(Host& host) : host_(host), backend_(host) {}

  Status init() override {
    const Options& options = host_.options();
    const std::string& library = options.get_string("library");
    const int64_t threads = options.get_int("threads");
    backend_.set({.engine_folders = library.empty()
                                        ? backends::engine_folders("llamacpp", backends::own_file().string())
                                        : std::vector<std::string>{library},
                  .threads = threads == 0 ? std::max<int64_t>(1, usable_cpus() / 2) : threads,
                  .tries_files = options.get_bool("probe"),
                  .trial_timeout_ns = options.get_duration_ns("probe_timeout"),
                  .trial_memory_bytes = options.get_bytes("probe_memory")});
    return {};
  }
  Status start() override {
    set_llama_log(host_.log());
    return {};
  }
  void stop() override { forget_llama_log(host_.log()); }
  Backend& backend() noexcept { return backend_; }
  MetricSource& metrics() noexcept { return backend_.metrics(); }

 private:
  Host& host_;
  LlamaBackend backend_;
};

}  // namespace

ATOLL_PLUGIN(LlamaPlugin, {.name = "backends/llamacpp",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "Runs language models in GGUF files on CPUs with llama.cpp.",
                           // llama.cpp stays in the process, and calls the plugin to log.
                           .flags = ATOLL_PLUGIN_RESIDENT,
                           .provides = {provide<Backend, &LlamaPlugin::backend>(),
                                        provide<MetricSource, &LlamaPlugin::metrics>()},
                           .options = kOptions});

}  // namespace atl::llamacpp
