/// memory/cuda: GPUs by the CUDA driver, and their memory.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "atoll/core/quantity.h"
#include "atoll/lib/resident_memory.h"
#include "memory/cuda/cuda_memory.h"

namespace atl::memory {
namespace {

std::optional<int32_t> parse_ordinal(std::string_view text) {
  int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

Result<BytesByDevice> bytes_by_device(const Options& options, std::string_view key) {
  BytesByDevice bytes{.all = options.get_bytes(key), .some = {}};
  const std::string map_key = cat(key, "_by_device");
  for (const auto& [device, size] : options.get_map(map_key)) {
    const std::optional<int32_t> ordinal = parse_ordinal(device);
    const std::optional<uint64_t> parsed = parse_bytes(size);
    if (!ordinal || !parsed) {
      return invalid_argument("option '", map_key, "' has ", device, " = '", size,
                              "', expected the number of a GPU and a size such as 4GiB");
    }
    bytes.some[*ordinal] = *parsed;
  }
  return bytes;
}

Result<DeviceChoice> choice_from(const Options& options, const std::vector<std::string>& devices) {
  DeviceChoice choice;
  choice.min_capability = static_cast<int32_t>(std::lround(10 * options.get_float("min_compute_capability")));
  if (devices.empty()) return choice;
  choice.ordinals.emplace();
  for (const std::string& text : devices) {
    const std::optional<int32_t> ordinal = parse_ordinal(text);
    if (!ordinal) return invalid_argument("option 'devices' has '", text, "', expected the number of a GPU");
    choice.ordinals->push_back(*ordinal);
  }
  std::sort(choice.ordinals->begin(), choice.ordinals->end());
  return choice;
}

void check_options(OptionCheck& check) {
  const Options& options = check.options();
  check.list("devices", [&](const auto& devices) { return choice_from(options, devices); });
  check.passes("limit_by_device", bytes_by_device(options, "limit"));
  check.passes("kept_by_device", bytes_by_device(options, "kept"));
}

class CudaMemoryPlugin final : public Plugin {
 public:
  explicit CudaMemoryPlugin(Host& host) : host_(host), devices_(host) {}
  Memory& memory() noexcept { return *memory_; }
  Cuda& cuda() noexcept { return devices_; }

  Status init() override {
    Result<DeviceChoice> choice = choice_from(host_.options(), host_.options().get_strings("devices"));
    if (!choice.ok()) return std::move(choice).status();
    Result<BytesByDevice> limit = bytes_by_device(host_.options(), "limit");
    if (!limit.ok()) return std::move(limit).status();
    Result<BytesByDevice> kept = bytes_by_device(host_.options(), "kept");
    if (!kept.ok()) return std::move(kept).status();
    devices_.open(open_driver(host_.options().get_string("library")), choice.value());
    memory_.emplace(devices_, CudaMemorySettings{.limit = *limit, .kept = *kept});
    return {};
  }
  std::string holding() override {
    const uint64_t bytes = memory_->used_bytes();
    return bytes == 0 ? std::string() : cat(size_text(bytes), " of GPUs in use");
  }

 private:
  Host& host_;
  Devices devices_;
  std::optional<CudaMemory> memory_;  ///< goes before them
};

constexpr OptionTable kOptions{
    option_string("library", "libcuda.so.1")
        .help("The driver's library: a name that the loader looks for, or a path."),
    option_string_list("devices", {})
        .help("Numbers of the GPUs that are used, as the driver counts; empty: all."),
    option_float("min_compute_capability", 6.0)
        .range(0, 99)
        .help("GPUs of a lower compute capability are not used."),
    option_bytes("limit", "0").help("Most bytes in use of a GPU at a time; 0: no limit."),
    option_string_map("limit_by_device").help("The same for single GPUs: {\"0\" = \"4GiB\"}."),
    option_bytes("kept", "64MiB")
        .help("Freed memory that a GPU keeps for later allocations; the rest goes back to the driver."),
    option_string_map("kept_by_device").help("The same for single GPUs: {\"0\" = \"1GiB\"}."),
};

}  // namespace

ATOLL_PLUGIN(CudaMemoryPlugin,
             {.name = "memory/cuda",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Gives out memory of GPUs, and the GPUs to plugins that compute on them.",
              .flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_UNTRIED,  // it takes memory of each GPU
              .provides = {provide<Memory, &CudaMemoryPlugin::memory>().minor(Memory::kEventsMinor),
                           provide<Cuda, &CudaMemoryPlugin::cuda>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::memory
