/// memory/pinned: host memory that GPUs reach.
#include "atoll/core/plugin.h"

#include "atoll/lib/resident_memory.h"
#include "memory/pinned/pinned_memory.h"

namespace atl::memory {
namespace {

class PinnedMemoryPlugin final : public Plugin {
 public:
  explicit PinnedMemoryPlugin(Host& host) : host_(host), memory_(host.options().get_bytes("size")) {}
  Memory& memory() noexcept { return memory_; }

  Status start() override {
    Result<Service<Cuda>> cuda = host_.registry().find<Cuda>();
    if (!cuda.ok()) return std::move(cuda).status();
    cuda_ = std::move(cuda).value();
    memory_.open(*cuda_);
    return {};
  }
  void stop() override {
    if (Status status = memory_.close(); !status.ok()) host_.log().warning(status.message());
    cuda_.reset();
  }
  std::string holding() override {
    const uint64_t bytes = memory_.used_bytes();
    return bytes == 0 ? std::string() : cat(size_text(bytes), " in use");
  }

 private:
  Host& host_;
  Service<Cuda> cuda_;
  PinnedMemory memory_;
};

constexpr OptionTable kOptions{
    option_bytes("size", "256MiB").help("Pinned memory, made when it is first asked for; 0: none."),
};

}  // namespace

ATOLL_PLUGIN(PinnedMemoryPlugin,
             {.name = "memory/pinned",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Gives out host memory that GPUs copy from and to without a detour.",
              .provides = {provide<Memory, &PinnedMemoryPlugin::memory>().minor(Memory::kGrowableMinor)},
              .needs = {need<Cuda>()},
              .options = kOptions});

}  // namespace atl::memory
