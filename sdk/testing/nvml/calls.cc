// What the library exports.
#include <cstdio>
#include <cstring>
#include <optional>

#include "library.h"

namespace atl::nvml_double {
namespace {

using Value = test::NvmlDoubleValue;

/// A GPU, or its part.
struct Target {
  Gpu* gpu;
  bool is_part;
};

/// Handles are numbers: twice the GPU's, and one more is its part.
constexpr uintptr_t kFirstHandle = 0x1000;
NvmlDevice handle_of(size_t index, bool is_part) {
  return reinterpret_cast<NvmlDevice>(kFirstHandle + 2 * index + (is_part ? 1 : 0));
}
std::optional<Target> target_of(Library& all, NvmlDevice device) {
  const uintptr_t number = reinterpret_cast<uintptr_t>(device) - kFirstHandle;
  if (number / 2 >= all.gpus.size()) return std::nullopt;
  return Target{&all.gpus[number / 2], number % 2 != 0};
}

/// What this call is to return, if it is one that fails.
std::optional<NvmlResult> planned(Library& all, const char* function) {
  for (auto one = all.failures.begin(); one != all.failures.end(); ++one) {
    if (one->function != "*" && one->function != function) continue;
    if (one->nth > 1) {
      --one->nth;
      continue;
    }
    const NvmlResult code = one->code;
    if (one->nth == 1) all.failures.erase(one);
    return code;
  }
  return std::nullopt;
}

std::optional<NvmlResult> count(std::unique_lock<std::mutex>& lock, Library& all, const char* function) {
  ++all.calls[function];
  ++all.all_calls;
  all.changed.wait(lock, [&] { return !all.holds; });
  return planned(all, function);
}

template <class Body>
NvmlResult enter(const char* function, Body&& body) {
  Library& all = library();
  std::unique_lock lock(all.mutex);
  if (const auto code = count(lock, all, function)) return *code;
  if (all.initialised == 0) {
    all.misuses.insert(std::string(function) + " was called without nvmlInit_v2");
    return NvmlResult::UNINITIALIZED;
  }
  return body(all);
}

template <class Body>
NvmlResult about(const char* function, NvmlDevice device, Body&& body) {
  return enter(function, [&](Library& all) {
    const std::optional<Target> target = target_of(all, device);
    if (!target) {
      all.misuses.insert(std::string(function) + " was called with a handle that is none");
      return NvmlResult::INVALID_ARGUMENT;
    }
    if (const uint64_t lost = target->gpu->value(Value::kLost); lost != 0)
      return static_cast<NvmlResult>(lost);
    return body(*target);
  });
}

NvmlResult give_text(const std::string& text, char* to, uint32_t room_bytes) {
  if (to == nullptr) return NvmlResult::INVALID_ARGUMENT;
  if (text.size() >= room_bytes) return NvmlResult::INSUFFICIENT_SIZE;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NvmlResult::SUCCESS;
}

/// Of the GPU as a whole alone.
template <class Number>
NvmlResult give_value(const char* function, NvmlDevice device, Value which, Number* to) {
  return about(function, device, [&](const Target& target) {
    if (target.is_part) return NvmlResult::NOT_SUPPORTED;
    *to = static_cast<Number>(target.gpu->value(which));
    return NvmlResult::SUCCESS;
  });
}

std::string part_uuid(const Gpu& gpu) { return "MIG-" + gpu.uuid.substr(4); }

}  // namespace
}  // namespace atl::nvml_double

using namespace atl;
using namespace atl::nvml_double;

#define ATOLL_NVML_EXPORT extern "C" __attribute__((visibility("default")))

ATOLL_NVML_EXPORT const test::NvmlDouble* atoll_nvml_double() { return &control(); }

ATOLL_NVML_EXPORT NvmlResult nvmlInit_v2() {
  Library& all = library();
  std::unique_lock lock(all.mutex);
  if (const auto code = count(lock, all, __func__)) return *code;
  const NvmlResult result = read_environment(all);
  if (result == NvmlResult::SUCCESS) ++all.initialised;
  return result;
}

ATOLL_NVML_EXPORT NvmlResult nvmlShutdown() {
  Library& all = library();
  std::unique_lock lock(all.mutex);
  const auto code = count(lock, all, __func__);
  if (all.initialised == 0) {
    all.misuses.insert("nvmlShutdown was called without nvmlInit_v2");
    return NvmlResult::UNINITIALIZED;
  }
  --all.initialised;
  return code.value_or(NvmlResult::SUCCESS);
}

ATOLL_NVML_EXPORT NvmlResult nvmlSystemGetDriverVersion(char* version, uint32_t room_bytes) {
  return enter(__func__, [&](Library&) { return give_text("580.0 (double)", version, room_bytes); });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetCount_v2(uint32_t* number) {
  return enter(__func__, [&](Library& all) {
    *number = static_cast<uint32_t>(all.gpus.size());
    return NvmlResult::SUCCESS;
  });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByIndex_v2(uint32_t index, NvmlDevice* device) {
  return enter(__func__, [&](Library& all) {
    if (index >= all.gpus.size()) return NvmlResult::INVALID_ARGUMENT;
    *device = handle_of(index, false);
    return NvmlResult::SUCCESS;
  });
}

/// The domain may have four digits or eight.
ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByPciBusId_v2(const char* pci_id, NvmlDevice* device) {
  return enter(__func__, [&](Library& all) {
    for (size_t i = 0; i < all.gpus.size(); ++i) {
      if (all.gpus[i].pci_id != pci_id && "0000" + all.gpus[i].pci_id != pci_id) continue;
      *device = handle_of(i, false);
      return NvmlResult::SUCCESS;
    }
    return NvmlResult::NOT_FOUND;
  });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  return enter(__func__, [&](Library& all) {
    for (size_t i = 0; i < all.gpus.size(); ++i) {
      const Gpu& gpu = all.gpus[i];
      const bool is_part = gpu.value(Value::kMig) != 0 && part_uuid(gpu) == uuid;
      if (gpu.uuid != uuid && !is_part) continue;
      *device = handle_of(i, is_part);
      return NvmlResult::SUCCESS;
    }
    return NvmlResult::NOT_FOUND;
  });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetUUID(NvmlDevice device, char* uuid, uint32_t room_bytes) {
  return about(__func__, device, [&](const Target& target) {
    return give_text(target.is_part ? part_uuid(*target.gpu) : target.gpu->uuid, uuid, room_bytes);
  });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetMigMode(NvmlDevice device, uint32_t* current,
                                                  uint32_t* after_reset) {
  return about(__func__, device, [&](const Target& target) {
    *current = *after_reset = static_cast<uint32_t>(target.gpu->value(Value::kMig));
    return NvmlResult::SUCCESS;
  });
}

/// Not known of a GPU that is divided, nor of its part.
ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* rates) {
  return about(__func__, device, [&](const Target& target) {
    if (target.gpu->value(Value::kMig) != 0) return NvmlResult::NOT_SUPPORTED;
    *rates = {.gpu = static_cast<uint32_t>(target.gpu->value(Value::kUtilization)), .memory = 0};
    return NvmlResult::SUCCESS;
  });
}

/// All of a GPU that is divided is for administrators.
ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetMemoryInfo_v2(NvmlDevice device, NvmlMemory* memory) {
  return about(__func__, device, [&](const Target& target) {
    if (memory->version != NvmlMemory{}.version) return NvmlResult::ARGUMENT_VERSION_MISMATCH;
    if (!target.is_part && target.gpu->value(Value::kMig) != 0) return NvmlResult::NO_PERMISSION;
    memory->total = target.is_part ? target.gpu->memory_bytes / 2 : target.gpu->memory_bytes;
    memory->reserved = 0;
    memory->used = target.gpu->value(Value::kMemoryUsed);
    memory->free = memory->total - memory->used;
    return NvmlResult::SUCCESS;
  });
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetPowerUsage(NvmlDevice device, uint32_t* power) {
  return give_value(__func__, device, Value::kPower, power);
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetPowerManagementLimit(NvmlDevice device, uint32_t* power) {
  return give_value(__func__, device, Value::kPowerLimit, power);
}

ATOLL_NVML_EXPORT NvmlResult nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device,
                                                                 unsigned long long* energy) {
  return give_value(__func__, device, Value::kEnergy, energy);
}

/// Signatures are those of the table.
#define ATOLL_NVML_CHECK(name, parameters) \
  static_assert(std::is_same_v<decltype(&name), decltype(Nvml::name)>);
ATOLL_NVML_SYMBOLS(ATOLL_NVML_CHECK)
#undef ATOLL_NVML_CHECK
