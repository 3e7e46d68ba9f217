/// backends/pytorch: TorchScript models on the CPU, by libtorch.
#include "atoll/core/plugin.h"

#include "atoll/core/usable_cpus.h"
#include "backends/common/own_file.h"
#include "backends/pytorch/late_backend.h"

namespace atl::pytorch {
namespace {

class PyTorchPlugin final : public Plugin {
 public:
  explicit PyTorchPlugin(Host& host) : host_(host), backend_(host.clock(), host.log()) {}

  Status init() override {
    const int64_t threads = host_.options().get_int("intra_op_threads");
    backend_.open(backends::own_file().parent_path() / kLibraryFile, threads == 0 ? usable_cpus() : threads);
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
