// The plugin fixtures/device: memory of GPUs that are none, and a backend that works there.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "atoll/backend/responder.h"
#include "atoll/core/plugin.h"
#include "atoll/testing/gpu/fake_device_memory.h"

namespace atl::fixture {
namespace {

using backends::BatchResponder;
using test::FakeDeviceEvent;
using test::FakeDeviceMemory;

/// What instances work with.
struct Device {
  FakeDeviceMemory& memory;
  SerialExecutor& stream;  ///< the device's own time
  Clock& clock;
  int64_t latency_ns;  ///< of a copy to an output
};

/// OUTPUT<i> = INPUT<i>, by way of the device's memory; DEVICE = the device's number. An output is filled
/// only when its response has been sent a while ago; until then other bytes are there.
class DeviceInstance final : public BackendInstance {
 public:
  DeviceInstance(Device& device, const InstanceSpec& spec) noexcept
      : device_(device), id_(spec.device_id), responder_(spec.reporter) {}

  Status execute(const Batch& batch) noexcept override {
    responder_.answer_each(batch, device_.clock, [this](uint32_t i) { return answer(i); });
    return {};
  }

 private:
  Status answer(uint32_t i) {
    const Request& request = responder_.request(i);
    for (const RequestedOutput& wanted : request.outputs) {
      if (wanted.name == "DEVICE") {
        responder_.add_values<int32_t>(i, wanted, device_shape(request), std::span<const int32_t>(&id_, 1));
        continue;
      }
      const InputTensor* input = request.find_input(cat("INPUT", wanted.name.substr(6)));
      if (input == nullptr) return invalid_argument("output '", wanted.name, "' has no input");
      ATOLL_RETURN_IF_ERROR(copy(i, wanted, *input));
    }
    return {};
  }
  static std::span<const int64_t> device_shape(const Request&) {
    static constexpr int64_t kOne[] = {1};
    return kOne;
  }

  Status copy(uint32_t i, const RequestedOutput& wanted, const InputTensor& input) {
    Result<Buffer> scratch = device_.memory.allocate(input.size_bytes, id_);
    if (!scratch.ok()) return std::move(scratch).status();
    Buffer part = *scratch;
    for (const Buffer& from : input.buffers) {
      part.size_bytes = from.size_bytes;
      if (Status status = device_.memory.copy(part, from); !status.ok()) {
        device_.memory.free(*scratch);
        return status;
      }
      part.data = static_cast<char*>(part.data) + from.size_bytes;
    }
    OutputTensor* output = responder_.add_output(i, wanted, input.datatype, input.shape, input.size_bytes,
                                                 MemoryKind::kGpu, id_);
    if (output == nullptr) {
      device_.memory.free(*scratch);
      return {};  // the responder knows why
    }
    fill_later(*output, *scratch);
    return {};
  }
  void fill_later(OutputTensor& output, const Buffer& scratch) {
    std::string junk(output.buffer.size_bytes, '\xdd');
    Buffer from;
    from.data = junk.data();
    from.size_bytes = junk.size();
    const Buffer to = output.buffer;
    if (to.kind == MemoryKind::kGpu) {
      (void)device_.memory.copy(to, from).ok();
    } else {
      (void)copy_on_host(to, from).ok();
    }
    FakeDeviceEvent& event = events_.emplace_back();  // as long as the instance
    output.buffer.ready_after = &event;
    FakeDeviceMemory& memory = device_.memory;
    device_.stream.post_at(device_.clock.now_ns() + device_.latency_ns,
                           make_task([&memory, &event, to, scratch] {
                             Status copied = memory.copy(to, scratch);
                             memory.free(scratch);
                             event.reach(std::move(copied));
                           }));
  }

  Device& device_;
  const int32_t id_;
  BatchResponder responder_;
  std::deque<FakeDeviceEvent> events_;
};

class DeviceModel final : public BackendModel {
 public:
  explicit DeviceModel(Device& device) noexcept : device_(device) {}
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    if (spec.kind != InstanceKind::kGpu) {
      return invalid_argument("instance '", spec.name, "' is of kind ", instance_kind_name(spec.kind),
                              ", expected GPU");
    }
    return std::unique_ptr<BackendInstance>(std::make_unique<DeviceInstance>(device_, spec));
  }

 private:
  Device& device_;
};

class DevicePlugin final : public Plugin, public Backend {
 public:
  explicit DevicePlugin(Host& host)
      : host_(host),
        memory_(static_cast<int32_t>(host.options().get_int("devices")), host.options().get_bytes("limit")) {}

  Status start() override {
    Result<SerialExecutorPtr> stream = host_.executors().create("device", ThreadPlacement{});
    if (!stream.ok()) return std::move(stream).status();
    stream_ = std::move(stream).value();
    device_.emplace(Device{memory_, *stream_, host_.clock(), host_.options().get_duration_ns("latency")});
    return {};
  }
  void stop() override { stream_.reset(); }
  Memory& memory() noexcept { return memory_; }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{.kind = InstanceKind::kGpu, .count = 1, .gpus = {}}}};
  }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource&) noexcept override {
    return std::unique_ptr<BackendModel>(std::make_unique<DeviceModel>(*device_));
  }

 private:
  Host& host_;
  FakeDeviceMemory memory_;
  SerialExecutorPtr stream_;
  std::optional<Device> device_;
};

constexpr OptionTable kOptions{
    option_int("devices", 2).range(0, 64).help("how many GPUs there are"),
    option_bytes("limit", "0").help("memory of all of them together; 0: no limit"),
    option_duration("latency", "20ms").help("after which an output is filled"),
};

}  // namespace

ATOLL_PLUGIN(DevicePlugin,
             {.name = "fixtures/device",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Memory of GPUs that are none, and a backend that works there.",
              .provides = {provide<Memory, &DevicePlugin::memory>().minor(Memory::kDevicesMinor),
                           provide<Backend>()},
              .options = kOptions});

}  // namespace atl::fixture
