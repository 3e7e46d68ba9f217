#include "backends/onnxruntime/testing/gpu_double_memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "atoll/testing/gpu/cuda_double.h"
#include "backends/onnxruntime/datatypes.h"

namespace atl::ort::test {
namespace {

constexpr uintptr_t kAlignment = 16;  // of the widest load

struct Driver {
  const atl::test::CudaDouble* control = nullptr;
  CudaResult (*retain)(CudaContext*, CudaDevice) = nullptr;
  CudaResult (*release)(CudaDevice) = nullptr;
  CudaResult (*set_current)(CudaContext) = nullptr;
  CudaResult (*allocate)(CudaAddress*, size_t) = nullptr;
  CudaResult (*free)(CudaAddress) = nullptr;
};

template <class Function>
void find(void* library, const char* name, int version, Function& function) {
  using Lookup = int (*)(const char*, void**, int, uint64_t, int*);
  const auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  void* found = nullptr;
  int state = 0;
  if (lookup == nullptr || lookup(name, &found, version, 1, &state) != 0 || found == nullptr) std::abort();
  function = reinterpret_cast<Function>(found);
}

const Driver& driver() {
  static const Driver opened = [] {
    Driver found;
    found.control = atl::test::cuda_double(ATOLL_CUDA_DOUBLE_PATH);
    void* const library = dlopen(ATOLL_CUDA_DOUBLE_PATH, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr || found.control == nullptr) std::abort();
    find(library, "cuDevicePrimaryCtxRetain", 7000, found.retain);
    find(library, "cuDevicePrimaryCtxRelease", 11000, found.release);
    find(library, "cuCtxSetCurrent", 4000, found.set_current);
    find(library, "cuMemAlloc", 3020, found.allocate);
    find(library, "cuMemFree", 3020, found.free);
    return found;
  }();
  return opened;
}

/// What a tensor is made of.
struct Description {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  size_t bytes = 0;
  void* data = nullptr;
};

Description describe(const OrtValue& value) {
  const OrtApi& api = real_api();
  Description found;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t rank = 0, count = 0;
  if (api.GetTensorTypeAndShape(&value, &info) != nullptr) std::abort();
  if (api.GetTensorElementType(info, &found.type) != nullptr) std::abort();
  if (api.GetDimensionsCount(info, &rank) != nullptr) std::abort();
  found.shape.resize(rank);
  if (api.GetDimensions(info, found.shape.data(), rank) != nullptr) std::abort();
  if (api.GetTensorShapeElementCount(info, &count) != nullptr) std::abort();
  api.ReleaseTensorTypeAndShapeInfo(info);
  found.bytes = count * data_type_size_bytes(from_onnx(found.type));
  if (api.GetTensorMutableData(const_cast<OrtValue*>(&value), &found.data) != nullptr) std::abort();
  return found;
}

const OrtMemoryInfo& info_of(const OrtValue& value) {
  const OrtMemoryInfo* info = nullptr;
  if (real_api().GetTensorMemoryInfo(&value, &info) != nullptr) std::abort();
  return *info;
}

OrtStatus* make_value(const OrtMemoryInfo& info, const Description& tensor, void* data, OrtValue** value) {
  return real_api().CreateTensorWithDataAsOrtValue(&info, data, tensor.bytes, tensor.shape.data(),
                                                   tensor.shape.size(), tensor.type, value);
}

std::mutex g_mutex;  // guards the following
struct Made {
  CudaAddress address;
  size_t bytes;
  int32_t device;
};
std::vector<Made> g_unused;
std::map<const OrtValue*, Made> g_made;
std::map<int32_t, std::pair<CudaContext, int>> g_contexts;

bool make_current(int32_t device) {
  const auto found = g_contexts.find(device);
  return found != g_contexts.end() && driver().set_current(found->second.first) == CudaResult::SUCCESS;
}

}  // namespace

OrtStatus* failure(const char* text) noexcept { return real_api().CreateStatus(ORT_FAIL, text); }

bool is_on_device(const OrtValue& value) noexcept {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  real_api().MemoryInfoGetDeviceType(&info_of(value), &type);
  return type == OrtMemoryInfoDeviceType_GPU;
}

int32_t device_of(const OrtValue& value) noexcept {
  int id = -1;
  if (real_api().MemoryInfoGetId(&info_of(value), &id) != nullptr) std::abort();
  return id;
}

OrtStatus* view_on_host(const OrtValue& value, OrtValue** view) noexcept {
  const Description tensor = describe(value);
  if (reinterpret_cast<uintptr_t>(tensor.data) % kAlignment != 0) return failure("misaligned address");
  void* const bytes = driver().control->memory(reinterpret_cast<CudaAddress>(tensor.data), tensor.bytes);
  if (bytes == nullptr) return failure("not memory of a device");
  OrtMemoryInfo* host = nullptr;
  if (OrtStatus* status = real_api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host))
    return status;
  OrtStatus* const status = make_value(*host, tensor, bytes, view);
  real_api().ReleaseMemoryInfo(host);
  return status;
}

OrtStatus* share(const OrtValue& value, OrtValue** shared) noexcept {
  const Description tensor = describe(value);
  return make_value(info_of(value), tensor, tensor.data, shared);
}

OrtStatus* move_to_device(const OrtValue& value, int32_t device, OrtValue** moved) noexcept {
  const Description tensor = describe(value);
  OrtMemoryInfo* info = nullptr;
  if (OrtStatus* status =
          real_api().CreateMemoryInfo("Cuda", OrtArenaAllocator, device, OrtMemTypeDefault, &info)) {
    return status;
  }
  std::lock_guard lock(g_mutex);
  CudaAddress address = 0;
  OrtStatus* status = nullptr;
  if (!make_current(device) || driver().allocate(&address, tensor.bytes + 1) != CudaResult::SUCCESS) {
    status = failure("no memory of the device");
  } else {
    std::memcpy(driver().control->memory(address, tensor.bytes + 1), tensor.data, tensor.bytes);
    status = make_value(*info, tensor, reinterpret_cast<void*>(address), moved);
    if (status == nullptr) g_made[*moved] = {address, tensor.bytes, device};
  }
  real_api().ReleaseMemoryInfo(info);
  return status;
}

void release_value(OrtValue* value) noexcept {
  {
    std::lock_guard lock(g_mutex);
    if (const auto made = g_made.find(value); made != g_made.end()) {
      if (void* bytes = driver().control->memory(made->second.address, made->second.bytes)) {
        std::memset(bytes, 0xdd, made->second.bytes);
      }
      g_unused.push_back(made->second);
      g_made.erase(made);
    }
  }
  real_api().ReleaseValue(value);
}

bool open_device(int32_t device) noexcept {
  std::lock_guard lock(g_mutex);
  auto& [context, uses] = g_contexts[device];
  if (driver().retain(&context, CudaDevice{device}) != CudaResult::SUCCESS) {
    if (uses == 0) g_contexts.erase(device);
    return false;
  }
  ++uses;
  return true;
}

void close_device(int32_t device) noexcept {
  std::lock_guard lock(g_mutex);
  if (--g_contexts[device].second == 0) {
    (void)make_current(device);
    for (const Made& made : g_unused) {
      if (made.device == device) (void)driver().free(made.address);
    }
    std::erase_if(g_unused, [device](const Made& made) { return made.device == device; });
    g_contexts.erase(device);
  }
  (void)driver().release(CudaDevice{device});
}

void lose_device(int32_t device) noexcept {
  driver().control->fail_device(device, CudaResult::ILLEGAL_ADDRESS);
}

}  // namespace atl::ort::test
