/// backends/pytorch: TorchScript models on the CPU, by libtorch.
#include "atoll/core/plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "atoll/core/usable_cpus.h"
#include "backends/pytorch/late_backend.h"

namespace atl::pytorch {
namespace {

/// Where the plugin's own file is.
std::filesystem::path own_folder() {
  static const char here = 0;
  Dl_info info;
  if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

class PyTorchPlugin final : public Plugin {
 public:
  explicit PyTorchPlugin(Host& host) : host_(host), backend_(host.clock(), host.log()) {}

  Status init() override {
    const int64_t threads = host_.options().get_int("intra_op_threads");
    backend_.open(own_folder() / kLibraryFile, threads == 0 ? usable_cpus() : threads);
    return {};
  }
  Backend& backend() noexcept { return backend_; }

 private:
  Host& host_;
  LateBackend backend_;
};

constexpr OptionTable kOptions{
    option_int("intra_op_threads", 0)
        .range(0, 1024)
        .help("Threads that work on one operator, for models that do not say; 0: one a CPU that the process "
              "may use (affinity, container quota)."),
};

}  // namespace

ATOLL_PLUGIN(PyTorchPlugin, {.name = "backends/pytorch",
                             .version = "1.0.0",
                             .license = "Apache-2.0",
                             .help = "Runs TorchScript models on CPU with PyTorch.",
                             .flags = ATOLL_PLUGIN_RESIDENT,
                             .provides = {provide<Backend, &PyTorchPlugin::backend>()},
                             .options = kOptions});

}  // namespace atl::pytorch
