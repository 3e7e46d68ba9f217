#include "memory/cuda/devices.h"

#include <algorithm>
#include <utility>

#include "atoll/lib/resident_memory.h"

namespace atl::memory {
namespace {

/// Of a call that is for no device that is used.
Status failure(const char* call, CudaResult result) {
  return unavailable(call, " gave ", result_text(result));
}

std::string capability_text(int32_t capability) { return cat(capability / 10, ".", capability % 10); }

/// "GPU-8f1c0e5d-1c2d-3e4f-5061-728394a5b6c7", as NVIDIA's tools write it.
std::string uuid_text(const CudaUuid& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

}  // namespace

void Devices::open(const Result<DriverEntry>& entry, const DeviceChoice& choice) noexcept {
  const auto look = [&]() -> Status {
    if (!entry.ok()) return entry.status().clone();
    Result<BoundDriver> driver = bind_driver(entry.value());
    if (!driver.ok()) return std::move(driver).status();
    driver_ = *driver;
    int32_t count = 0;
    const CudaResult result = driver_.functions.cuDeviceGetCount(&count);
    if (result != CudaResult::SUCCESS) return failure("cuDeviceGetCount", result);
    if (count <= 0) return unavailable("the CUDA driver finds no GPU");
    if (choice.ordinals) {
      for (const int32_t ordinal : *choice.ordinals) {
        if (ordinal >= count)
          host_.log().warning("GPU ", ordinal, " is not used: there are only ", count, " from 0 on");
      }
    }
    for (int32_t ordinal = 0; ordinal < count; ++ordinal) {
      if (choice.ordinals && !std::binary_search(choice.ordinals->begin(), choice.ordinals->end(), ordinal))
        continue;
      if (Status status = add(ordinal, choice); !status.ok()) {
        host_.log().warning("GPU ", ordinal, " is not used: ", status.message());
      }
    }
    if (infos_.empty())
      return unavailable("none of the ", count, count == 1 ? " GPU" : " GPUs", " may be used");
    return {};
  };
  absence_ = look();
  if (!absence_.ok()) host_.log().info("no GPU is used: ", absence_.message());
}

Status Devices::add(int32_t ordinal, const DeviceChoice& choice) noexcept {
  CudaDeviceInfo info;
  auto device = std::make_unique<Device>();
  device->ordinal = ordinal;
  ATOLL_RETURN_IF_ERROR(describe(device.get(), &info));
  ATOLL_RETURN_IF_ERROR(check_use(info, choice, device.get()));
  host_.log().info("GPU ", ordinal, ": ", info.name, ", compute capability ",
                   capability_text(info.capability), ", ", size_text(info.memory_bytes), " of memory, PCI ",
                   info.pci_id, ", ", info.uuid, "; driver for CUDA ", version_text(driver_.version));
  infos_.push_back(std::move(info));
  devices_.push_back(std::move(device));
  return {};
}

Status Devices::describe(Device* device, CudaDeviceInfo* info) noexcept {
  const CudaDriver& driver = driver_.functions;
  CudaDevice& handle = device->handle;
  char name[256] = {};
  char pci_id[32] = {};
  CudaUuid uuid = {};
  size_t bytes = 0;
  if (const CudaResult result = driver.cuDeviceGet(&handle, device->ordinal); result != CudaResult::SUCCESS)
    return failure("cuDeviceGet", result);
  if (const CudaResult result = driver.cuDeviceGetName(name, sizeof name, handle);
      result != CudaResult::SUCCESS)
    return failure("cuDeviceGetName", result);
  if (const CudaResult result = driver.cuDeviceGetUuid(&uuid, handle); result != CudaResult::SUCCESS)
    return failure("cuDeviceGetUuid", result);
  if (const CudaResult result = driver.cuDeviceGetPCIBusId(pci_id, sizeof pci_id, handle);
      result != CudaResult::SUCCESS)
    return failure("cuDeviceGetPCIBusId", result);
  if (const CudaResult result = driver.cuDeviceTotalMem(&bytes, handle); result != CudaResult::SUCCESS)
    return failure("cuDeviceTotalMem", result);
  int32_t major = 0, minor = 0;
  ATOLL_RETURN_IF_ERROR(attribute(handle, CudaDeviceAttribute::kComputeCapabilityMajor, &major));
  ATOLL_RETURN_IF_ERROR(attribute(handle, CudaDeviceAttribute::kComputeCapabilityMinor, &minor));
  name[sizeof name - 1] = pci_id[sizeof pci_id - 1] = '\0';
  *info = {.ordinal = device->ordinal,
           .name = name,
           .uuid = uuid_text(uuid),
           .pci_id = pci_id,
           .capability = 10 * major + minor,
           .memory_bytes = bytes};
  return {};
}

Status Devices::attribute(CudaDevice handle, CudaDeviceAttribute which, int32_t* value) noexcept {
  const CudaResult result = driver_.functions.cuDeviceGetAttribute(value, which, handle);
  return result == CudaResult::SUCCESS ? Status() : failure("cuDeviceGetAttribute", result);
}

Status Devices::check_use(const CudaDeviceInfo& info, const DeviceChoice& choice, Device* device) noexcept {
  if (info.capability < choice.min_capability) {
    return unavailable("gpu ", info.ordinal, " has compute capability '", capability_text(info.capability),
                       "' which is less than the minimum supported of '",
                       capability_text(choice.min_capability), "'");
  }
  int32_t mode = 0, has_pools = 0, has_virtual_memory = 0;
  ATOLL_RETURN_IF_ERROR(attribute(device->handle, CudaDeviceAttribute::kComputeMode, &mode));
  ATOLL_RETURN_IF_ERROR(attribute(device->handle, CudaDeviceAttribute::kMemoryPools, &has_pools));
  ATOLL_RETURN_IF_ERROR(attribute(device->handle, CudaDeviceAttribute::kVirtualMemory, &has_virtual_memory));
  if (static_cast<CudaComputeMode>(mode) == CudaComputeMode::kProhibited) {
    return unavailable("its compute mode is prohibited");
  }
  if (has_pools == 0) return unavailable("it has no memory pools");
  device->has_virtual_memory = has_virtual_memory != 0;
  return {};
}

Devices::Device* Devices::find(int32_t device) const noexcept {
  for (const auto& one : devices_) {
    if (one->ordinal == device) return one.get();
  }
  return nullptr;
}

void Devices::log_failure(const Status& status) noexcept {
  if (!status.ok()) host_.log().warning(status.message());
}

Status Devices::lost(int32_t device) const noexcept {
  const Device* found = find(device);
  if (found == nullptr) {
    if (devices_.empty()) return invalid_argument("there is no GPU ", device, ": ", absence_.message());
    return invalid_argument("there is no GPU ", device, " that is used");
  }
  if (!found->is_lost.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(found->mutex);
  return found->loss.clone();
}

Status Devices::report(int32_t device, const char* call, CudaResult result) noexcept {
  if (result == CudaResult::SUCCESS) return {};
  const std::string what = cat("GPU ", device, ": ", call, " gave ", result_text(result));
  const CudaFault fault = cuda_fault(result);
  if (fault == CudaFault::kMemory) return make_status(Code::kResourceExhausted, what);
  if (fault == CudaFault::kUnavailable) return unavailable(what);
  if (fault != CudaFault::kDeviceLost) return internal_error(what);
  Device* found = find(device);
  if (found == nullptr) return unavailable(what);
  {
    std::lock_guard lock(found->mutex);
    if (found->is_lost.load(std::memory_order_relaxed)) return found->loss.clone();
    found->loss = unavailable("GPU ", device, " is lost: ", call, " gave ", result_text(result));
    found->is_lost.store(true, std::memory_order_release);
  }
  host_.log().error("GPU ", device, " is lost: ", call, " gave ", result_text(result),
                    "; what uses it fails until the server is started anew");
  return lost(device);
}

Result<CudaContext> Devices::context(int32_t device) noexcept {
  ATOLL_RETURN_IF_ERROR(lost(device));
  Device& found = *find(device);
  CudaResult result = CudaResult::SUCCESS;
  {
    std::lock_guard lock(found.mutex);
    if (found.context == nullptr)
      result = driver_.functions.cuDevicePrimaryCtxRetain(&found.context, found.handle);
    if (result == CudaResult::SUCCESS) return found.context;
    found.context = nullptr;
  }
  return report(device, "cuDevicePrimaryCtxRetain", result);
}

Status Devices::ensure_current(int32_t device) noexcept {
  Result<CudaContext> made = context(device);
  if (!made.ok()) return std::move(made).status();
  return call<&CudaDriver::cuCtxSetCurrent>(device, *made);
}

}  // namespace atl::memory
