// The plugin fixtures/on_gpu: a backend whose models send their inputs through a GPU, by whoever provides GPUs.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/backend/responder.h"
#include "atoll/core/plugin.h"
#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"

namespace atl::fixture {
namespace {

using backends::BatchResponder;

struct Gpus {
  Cuda& cuda;
  Memory& memory;
  Clock& clock;
};

/// OUTPUT<i> = INPUT<i>. Takes memory of its GPU as long as it lives.
class OnGpuInstance final : public BackendInstance {
 public:
  OnGpuInstance(const Gpus& gpus, const Buffer& held, const InstanceSpec& spec) noexcept
      : gpus_(gpus), held_(held), responder_(spec.reporter) {}
  ~OnGpuInstance() override { gpus_.memory.free(held_); }

  Status execute(const Batch& batch) noexcept override {
    responder_.answer_each(batch, gpus_.clock, [this](uint32_t i) { return answer(i); });
    return {};
  }
  bool ready() const noexcept override { return gpus_.cuda.lost(held_.device_id).ok(); }
  std::string unready_reason() const override {
    const Status lost = gpus_.cuda.lost(held_.device_id);
    return lost.ok() ? std::string() : std::string(lost.message());
  }

 private:
  Status answer(uint32_t i) {
    const Request& request = responder_.request(i);
    for (const RequestedOutput& wanted : request.outputs) {
      const InputTensor* input = request.find_input(cat("INPUT", wanted.name.substr(6)));
      if (input == nullptr) return invalid_argument("output '", wanted.name, "' has no input");
      ATOLL_RETURN_IF_ERROR(pass(i, wanted, *input));
    }
    return {};
  }

  Status pass(uint32_t i, const RequestedOutput& wanted, const InputTensor& input) {
    Result<Buffer> scratch = gpus_.memory.allocate(input.size_bytes, held_.device_id);
    if (!scratch.ok()) return std::move(scratch).status();
    Status status;
    Buffer part = *scratch;
    for (const Buffer& from : input.buffers) {
      part.size_bytes = from.size_bytes;
      if (status.ok()) status = gpus_.memory.copy(part, from);
      part.data = static_cast<char*>(part.data) + from.size_bytes;
    }
    if (status.ok()) {
      OutputTensor* output = responder_.add_output(i, wanted, input.datatype, input.shape, input.size_bytes);
      if (output != nullptr) status = gpus_.memory.copy(output->buffer, *scratch);
    }
    gpus_.memory.free(*scratch);
    return status;
  }

  const Gpus gpus_;
  const Buffer held_;
  BatchResponder responder_;
};

class OnGpuModel final : public BackendModel {
 public:
  OnGpuModel(const Gpus& gpus, uint64_t held_bytes) noexcept : gpus_(gpus), held_bytes_(held_bytes) {}
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    if (spec.kind != InstanceKind::kGpu) {
      return invalid_argument("instance '", spec.name, "' is of kind ", instance_kind_name(spec.kind),
                              ", expected GPU");
    }
    Result<Buffer> held = gpus_.memory.allocate(held_bytes_, spec.device_id);
    if (!held.ok()) return std::move(held).status();
    std::lock_guard lock(mutex_);
    used_bytes_[spec.device_id] += held_bytes_;
    return std::unique_ptr<BackendInstance>(std::make_unique<OnGpuInstance>(gpus_, *held, spec));
  }
  std::vector<MemoryUsage> memory_usage() const noexcept override {
    std::vector<MemoryUsage> usage;
    std::lock_guard lock(mutex_);
    for (const auto& [device, bytes] : used_bytes_)
      usage.push_back({.kind = MemoryKind::kGpu, .device_id = device, .size_bytes = bytes});
    return usage;
  }

 private:
  const Gpus gpus_;
  const uint64_t held_bytes_;
  mutable std::mutex mutex_;
  std::map<int32_t, uint64_t> used_bytes_;  ///< by GPU, of all instances there ever were
};

class OnGpuPlugin final : public Plugin, public Backend {
 public:
  explicit OnGpuPlugin(Host& host) : host_(host) {}

  Status start() override {
    auto cuda = host_.registry().find<Cuda>();
    if (!cuda.ok()) return std::move(cuda).status();
    auto memory = memory_of(host_.registry(), MemoryKind::kGpu, Memory::kDevicesMinor);
    if (!memory.ok()) return std::move(memory).status();
    cuda_ = std::move(cuda).value();
    memory_ = std::move(memory).value();
    return {};
  }
  void stop() override {
    memory_.reset();
    cuda_.reset();
  }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kAuto, 0, {}}}};
  }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource&) noexcept override {
    return std::unique_ptr<BackendModel>(std::make_unique<OnGpuModel>(Gpus{*cuda_, *memory_, host_.clock()},
                                                                      host_.options().get_bytes("held")));
  }

 private:
  Host& host_;
  Service<Cuda> cuda_;
  Service<Memory> memory_;
};

constexpr OptionTable kOptions{
    option_bytes("held", "1MiB").help("Memory of its GPU that each instance takes.")};

}  // namespace

ATOLL_PLUGIN(OnGpuPlugin, {.name = "fixtures/on_gpu",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "A backend whose models send their inputs through a GPU.",
                           .provides = {provide<Backend>().minor(Backend::kUnreadyReasonMinor)},
                           .needs = {need<Cuda>(), many<Memory>()},
                           .options = kOptions});

}  // namespace atl::fixture
