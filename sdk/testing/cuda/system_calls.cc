/// Initialisation, devices, contexts, names of errors.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "control.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

void load_kernels(const std::vector<std::string>& libraries) {
  for (const std::string& path : libraries) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto made_for =
        library == nullptr
            ? nullptr
            : reinterpret_cast<test::CudaDoubleKernels>(dlsym(library, test::kCudaDoubleKernelsSymbol));
    if (made_for == nullptr) {
      std::fprintf(stderr, "CUDA double: %s\n", dlerror());
      std::abort();
    }
    made_for(control());
  }
}

void plan_failures(Driver& all) {
  for (const PlannedFailure& one : all.configuration.calls)
    all.call_failures.push_back({one.target, one.nth, one.code});
  for (const PlannedFailure& one : all.configuration.operations) {
    const size_t device = std::strtoul(one.target.c_str(), nullptr, 10);
    if (device >= all.devices.size()) continue;
    all.devices[device]->fails_at = one.nth;
    all.devices[device]->fails_with = one.code;
  }
}

Device* device_of(CudaDevice ordinal) {
  auto& devices = driver().devices;
  return ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()
             ? nullptr
             : devices[static_cast<size_t>(ordinal)].get();
}

/// For functions that ask about a device, which a lost one still answers.
template <class Body>
CudaResult about_device(const char* function, CudaDevice ordinal, Body&& body) {
  return enter(function, kInitialised, [&](Call&) {
    Device* device = device_of(ordinal);
    return device == nullptr ? CudaResult::INVALID_DEVICE : body(*device);
  });
}

CudaResult give_text(const std::string& text, char* to, int32_t room) {
  if (to == nullptr || room <= 0) return CudaResult::INVALID_VALUE;
  std::snprintf(to, static_cast<size_t>(room), "%s", text.c_str());
  return CudaResult::SUCCESS;
}

std::optional<int32_t> attribute_of(const Device& device, CudaDeviceAttribute attribute) {
  switch (attribute) {
    case CudaDeviceAttribute::kMaxThreadsPerBlock:
    case CudaDeviceAttribute::kMaxBlockX:
    case CudaDeviceAttribute::kMaxBlockY:
      return 1024;
    case CudaDeviceAttribute::kMaxBlockZ:
      return 64;
    case CudaDeviceAttribute::kMaxGridX:
      return INT32_MAX;
    case CudaDeviceAttribute::kMaxGridY:
    case CudaDeviceAttribute::kMaxGridZ:
      return 65535;
    case CudaDeviceAttribute::kMaxSharedBytesPerBlock:
      return 48 << 10;
    case CudaDeviceAttribute::kWarpSize:
      return 32;
    case CudaDeviceAttribute::kMultiprocessorCount:
      return 8;
    case CudaDeviceAttribute::kComputeMode:
      return static_cast<int32_t>(device.about.compute_mode);
    case CudaDeviceAttribute::kComputeCapabilityMajor:
      return device.about.major;
    case CudaDeviceAttribute::kComputeCapabilityMinor:
      return device.about.minor;
    case CudaDeviceAttribute::kMaxSharedBytesOptIn:
      return 227 << 10;
    case CudaDeviceAttribute::kUnifiedAddressing:
    case CudaDeviceAttribute::kVirtualMemory:
    case CudaDeviceAttribute::kMemoryPools:
      return 1;
    case CudaDeviceAttribute::kCooperativeLaunch:
    case CudaDeviceAttribute::kIpcEvents:
      return 0;
  }
  return {};
}

/// What is left in a context that goes is a misuse of whoever let it go.
void empty_context(const Call& call, Context& context) {
  Driver& all = driver();
  const auto left = all.all_streams;
  size_t streams = 0;
  for (const std::shared_ptr<Stream>& stream : left) {
    if (stream->context != &context) continue;
    if (stream != context.legacy) ++streams;
    all.close(*stream);
  }
  const size_t events = std::erase_if(all.events, [&](auto& one) { return one.second->context == &context; });
  if (streams + events == 0) return;
  call.misuse("the context went with " + std::to_string(streams) + " streams and " + std::to_string(events) +
              " events");
}

/// Null: the number has no name here.
const char* full_name(CudaResult result) {
  static const auto& names = *[] {
    auto* made = new std::map<CudaResult, std::string>{
#define ATOLL_CUDA_NAME(name, number, fault) {CudaResult::name, "CUDA_ERROR_" #name},
        ATOLL_CUDA_RESULTS(ATOLL_CUDA_NAME)
#undef ATOLL_CUDA_NAME
    };
    (*made)[CudaResult::SUCCESS] = "CUDA_SUCCESS";
    // Names that are macros of the system have one sign more in the header.
    for (auto& [code, name] : *made) {
      if (name.ends_with('_')) name.pop_back();
    }
    return made;
  }();
  const auto found = names.find(result);
  return found == names.end() ? nullptr : found->second.c_str();
}

}  // namespace

CudaResult initialise(uint32_t flags) {
  Driver& all = driver();
  if (all.is_forked) return CudaResult::NOT_INITIALIZED;
  if (flags != 0) return CudaResult::INVALID_VALUE;
  Configuration read = read_configuration();
  {
    std::lock_guard lock(all.mutex);
    if (all.is_initialised) return CudaResult::SUCCESS;
    if (read.init != CudaResult::SUCCESS) return read.init;
    if (read.devices.empty()) return CudaResult::NO_DEVICE;
    all.configuration = read;
    for (const DeviceConfiguration& about : read.devices) {
      auto device = std::make_unique<Device>();
      device->ordinal = static_cast<int32_t>(all.devices.size());
      device->about = about;
      all.devices.push_back(std::move(device));
    }
    all.stepped = read.stepped;
    all.hang_event = read.hang_event;
    all.slow_copy_ns = read.slow_copy_ns;
    plan_failures(all);
    all.is_initialised = true;
  }
  load_kernels(read.kernels);
  return CudaResult::SUCCESS;
}

int32_t driver_version() {
  const Driver& all = driver();
  {
    std::lock_guard lock(driver().mutex);
    if (all.is_initialised) return all.configuration.driver_version;
  }
  return read_configuration().driver_version;
}

namespace api {

CudaResult cuDriverGetVersion(int32_t* version) {
  if (version == nullptr) return CudaResult::INVALID_VALUE;
  *version = driver_version();
  return enter(__func__, kNothing, [](Call&) { return CudaResult::SUCCESS; });
}

CudaResult cuGetErrorName(CudaResult result, const char** name) {
  *name = full_name(result);
  return *name == nullptr ? CudaResult::INVALID_VALUE : CudaResult::SUCCESS;
}

CudaResult cuGetErrorString(CudaResult result, const char** text) { return cuGetErrorName(result, text); }

CudaResult cuDeviceGetCount(int32_t* count) {
  return enter(__func__, kInitialised, [&](Call&) {
    *count = static_cast<int32_t>(driver().devices.size());
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDeviceGet(CudaDevice* device, int32_t ordinal) {
  return about_device(__func__, ordinal, [&](Device&) {
    *device = ordinal;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDeviceGetName(char* name, int32_t room_bytes, CudaDevice device) {
  return about_device(__func__, device,
                      [&](Device& found) { return give_text(found.about.name, name, room_bytes); });
}

CudaResult cuDeviceGetAttribute(int32_t* value, CudaDeviceAttribute attribute, CudaDevice device) {
  return about_device(__func__, device, [&](Device& found) {
    const std::optional<int32_t> known = attribute_of(found, attribute);
    if (!known) return CudaResult::INVALID_VALUE;
    *value = *known;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDeviceGetUuid(CudaUuid* uuid, CudaDevice device) {
  return about_device(__func__, device, [&](Device& found) {
    *uuid = found.about.uuid;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDeviceTotalMem(size_t* bytes, CudaDevice device) {
  return about_device(__func__, device, [&](Device& found) {
    *bytes = found.about.memory_bytes;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDeviceGetPCIBusId(char* id, int32_t room_bytes, CudaDevice device) {
  return about_device(__func__, device,
                      [&](Device& found) { return give_text(found.about.pci_id, id, room_bytes); });
}

CudaResult cuDeviceCanAccessPeer(int32_t* can, CudaDevice device, CudaDevice peer) {
  return about_device(__func__, device, [&](Device&) {
    if (device_of(peer) == nullptr) return CudaResult::INVALID_DEVICE;
    *can = device == peer ? 0 : 1;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDevicePrimaryCtxRetain(CudaContext* context, CudaDevice device) {
  return about_device(__func__, device, [&](Device& found) {
    if (found.failure != CudaResult::SUCCESS) return found.failure;
    if (found.about.compute_mode == CudaComputeMode::kProhibited) return CudaResult::UNKNOWN;
    if (found.about.taken) return CudaResult::DEVICE_UNAVAILABLE;
    Driver& all = driver();
    if (found.retained++ == 0) {
      auto made = std::make_shared<Context>();
      made->handle = all.new_handle<CudaContext>();
      made->device = &found;
      made->legacy = all.make_stream(*made, 0);
      found.primary = made->handle;
      all.contexts.emplace(made->handle, std::move(made));
    }
    *context = found.primary;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDevicePrimaryCtxRelease(CudaDevice device) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    Device* found = device_of(device);
    if (found == nullptr) return CudaResult::INVALID_DEVICE;
    Driver& all = driver();
    if (found->retained == 0) {
      call.misuse("the context is not retained");
      return CudaResult::INVALID_CONTEXT;
    }
    if (--found->retained != 0) return CudaResult::SUCCESS;
    const std::shared_ptr<Context> context = all.contexts.at(found->primary);
    found->primary = nullptr;
    all.wait_for_all(call.lock, *context);
    empty_context(call, *context);
    all.contexts.erase(context->handle);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuDevicePrimaryCtxGetState(CudaDevice device, uint32_t* flags, int32_t* active) {
  return about_device(__func__, device, [&](Device& found) {
    *flags = 0;
    *active = found.retained == 0 ? 0 : 1;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuCtxSetCurrent(CudaContext context) {
  return enter(__func__, kInitialised, [&](Call& call) {
    if (context != nullptr && find_in(call, driver().contexts, context, "context") == nullptr)
      return CudaResult::INVALID_CONTEXT;
    current_context() = context;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuCtxGetCurrent(CudaContext* context) {
  return enter(__func__, kInitialised, [&](Call&) {
    *context = current_context();
    return CudaResult::SUCCESS;
  });
}

}  // namespace api
}  // namespace atl::cuda_double
