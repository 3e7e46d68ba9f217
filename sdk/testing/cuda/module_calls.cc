/// Modules and libraries of PTX text: which kernels they have is read from it, what these do is registered.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver.h"

namespace atl::cuda_double {
namespace {

/// The newest PTX that a driver of this version reads.
int32_t newest_ptx(int32_t driver_version) {
  constexpr int32_t kFirstMajor = 12000;
  if (driver_version < kFirstMajor) return 78;
  const int32_t major = driver_version / 1000;
  const int32_t minor = driver_version % 1000 / 10;
  // 12.0 reads 8.0, 12.9 reads 8.8; 13.0 reads 9.0, and so on.
  if (major == 12) return std::min(88, 80 + minor);
  return 10 * (major - 4) + minor;
}

void say(const std::string& problem, uint32_t count, const CudaJitOption* options, void** values) {
  char* log = nullptr;
  size_t room = 0;
  size_t* room_in = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    if (options[i] == CudaJitOption::kErrorLog) log = static_cast<char*>(values[i]);
    if (options[i] != CudaJitOption::kErrorLogBytes) continue;
    // The option's value is the number itself, not a pointer to it; it becomes what was written.
    room_in = reinterpret_cast<size_t*>(&values[i]);
    room = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
  }
  if (log == nullptr || room == 0) return;
  const int written = std::snprintf(log, room, "ptxas fatal   : %s", problem.c_str());
  *room_in = std::min(room - 1, static_cast<size_t>(written));
}

/// \param target  10 · major + minor of the device; 0: whichever there is
CudaResult read_image(const void* image, int32_t target, PtxModule& code, std::string& problem) {
  if (image == nullptr) return CudaResult::INVALID_VALUE;
  constexpr unsigned char kElf[4] = {0x7f, 'E', 'L', 'F'};
  constexpr uint32_t kFatBinary = 0xba55ed50;
  uint32_t first = 0;
  std::memcpy(&first, image, 1);
  if (first == 0) return CudaResult::INVALID_IMAGE;
  const auto* text = static_cast<const char*>(image);
  if (strnlen(text, sizeof(first)) == sizeof(first)) std::memcpy(&first, image, sizeof(first));
  // Machine code cannot be executed here.
  if (first == kFatBinary || std::memcmp(&first, kElf, sizeof(kElf)) == 0)
    return CudaResult::NO_BINARY_FOR_GPU;
  std::optional<PtxModule> read = read_ptx(text, problem);
  if (!read) return CudaResult::INVALID_PTX;
  if (read->version > newest_ptx(driver().configuration.driver_version)) {
    problem = "Unsupported .version " + std::to_string(read->version / 10) + "." +
              std::to_string(read->version % 10);
    return CudaResult::UNSUPPORTED_PTX_VERSION;
  }
  if (target != 0 && read->target > target) return CudaResult::NO_BINARY_FOR_GPU;
  code = std::move(*read);
  return CudaResult::SUCCESS;
}

Module make_module(PtxModule code) {
  Driver& all = driver();
  Module made;
  for (const PtxEntry& entry : code.entries) {
    auto kernel = std::make_shared<Kernel>();
    kernel->entry = entry;
    kernel->ptx_version = code.version;
    kernel->target = code.target;
    const auto handle = all.new_handle<CudaKernel>();
    all.kernels.emplace(handle, std::move(kernel));
    made.kernels.emplace(entry.name, handle);
  }
  made.code = std::move(code);
  return made;
}

void drop(const Module& module) {
  for (const auto& [name, handle] : module.kernels) driver().kernels.erase(handle);
}

int32_t newest_device() {
  int32_t newest = 0;
  for (const auto& device : driver().devices)
    newest = std::max(newest, 10 * device->about.major + device->about.minor);
  return newest;
}

CudaResult find_kernel(const Module& module, const char* name, CudaKernel& kernel) {
  const auto found = module.kernels.find(name);
  if (found == module.kernels.end()) return CudaResult::NOT_FOUND;
  kernel = found->second;
  return CudaResult::SUCCESS;
}

CudaResult attribute_of(const Kernel& kernel, CudaFunctionAttribute attribute, int32_t& value) {
  switch (attribute) {
    case CudaFunctionAttribute::kMaxThreadsPerBlock:
      value = 1024;
      return CudaResult::SUCCESS;
    case CudaFunctionAttribute::kSharedBytes:
    case CudaFunctionAttribute::kConstantBytes:
    case CudaFunctionAttribute::kLocalBytes:
      value = 0;
      return CudaResult::SUCCESS;
    case CudaFunctionAttribute::kRegisters:
      value = 32;
      return CudaResult::SUCCESS;
    case CudaFunctionAttribute::kPtxVersion:
    case CudaFunctionAttribute::kBinaryVersion:
      value = kernel.target;
      return CudaResult::SUCCESS;
    case CudaFunctionAttribute::kMaxDynamicSharedBytes:
      value = static_cast<int32_t>(kernel.max_dynamic_shared_bytes);
      return CudaResult::SUCCESS;
  }
  return CudaResult::INVALID_VALUE;
}

CudaResult set_attribute(Kernel& kernel, CudaFunctionAttribute attribute, int32_t value) {
  constexpr int32_t kMost = 227 << 10;
  if (attribute != CudaFunctionAttribute::kMaxDynamicSharedBytes || value < 0 || value > kMost)
    return CudaResult::INVALID_VALUE;
  kernel.max_dynamic_shared_bytes = static_cast<uint32_t>(value);
  return CudaResult::SUCCESS;
}

/// Kernels need no context, functions do. \param kernel  of the one or the other
template <class Body>
CudaResult with_kernel(const char* function, uint32_t needs, CudaKernel kernel, Body&& body) {
  return enter(function, needs, [&](Call& call) {
    auto* found = find_in(call, driver().kernels, kernel, "kernel");
    return found == nullptr ? CudaResult::INVALID_HANDLE : body(**found);
  });
}

CudaKernel kernel_of(CudaFunction function) { return reinterpret_cast<CudaKernel>(function); }

}  // namespace

namespace api {

CudaResult cuModuleLoadDataEx(CudaModule* module, const void* image, uint32_t option_count,
                              CudaJitOption* options, void** values) {
  return enter(__func__, kCurrentContext | kNotInCapture, [&](Call& call) {
    PtxModule code;
    std::string problem;
    const DeviceConfiguration& about = call.device().about;
    const CudaResult result = read_image(image, 10 * about.major + about.minor, code, problem);
    if (result != CudaResult::SUCCESS) {
      say(problem, option_count, options, values);
      return result;
    }
    *module = driver().new_handle<CudaModule>();
    driver().modules.emplace(*module, make_module(std::move(code)));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuModuleUnload(CudaModule module) {
  return enter(__func__, kCurrentContext | kGivesBack | kNotInCapture, [&](Call& call) {
    const Module* found = find_in(call, driver().modules, module, "module");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    drop(*found);
    driver().modules.erase(module);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuModuleGetFunction(CudaFunction* function, CudaModule module, const char* name) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    const Module* found = find_in(call, driver().modules, module, "module");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    CudaKernel kernel = nullptr;
    const CudaResult result = find_kernel(*found, name, kernel);
    if (result == CudaResult::SUCCESS) *function = reinterpret_cast<CudaFunction>(kernel);
    return result;
  });
}

CudaResult cuLibraryLoadData(CudaLibrary* library, const void* code, CudaJitOption* jit_options,
                             void** jit_values, uint32_t jit_option_count, CudaLibraryOption*, void**,
                             uint32_t) {
  return enter(__func__, kInitialised, [&](Call&) {
    PtxModule read;
    std::string problem;
    const CudaResult result = read_image(code, newest_device(), read, problem);
    if (result != CudaResult::SUCCESS) {
      say(problem, jit_option_count, jit_options, jit_values);
      return result;
    }
    *library = driver().new_handle<CudaLibrary>();
    driver().libraries.emplace(*library, make_module(std::move(read)));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuLibraryUnload(CudaLibrary library) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    const Module* found = find_in(call, driver().libraries, library, "library");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    drop(*found);
    driver().libraries.erase(library);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuLibraryGetKernel(CudaKernel* kernel, CudaLibrary library, const char* name) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const Module* found = find_in(call, driver().libraries, library, "library");
    return found == nullptr ? CudaResult::INVALID_HANDLE : find_kernel(*found, name, *kernel);
  });
}

CudaResult cuLibraryGetKernelCount(uint32_t* count, CudaLibrary library) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const Module* found = find_in(call, driver().libraries, library, "library");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    *count = static_cast<uint32_t>(found->kernels.size());
    return CudaResult::SUCCESS;
  });
}

CudaResult cuLibraryEnumerateKernels(CudaKernel* kernels, uint32_t room, CudaLibrary library) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const Module* found = find_in(call, driver().libraries, library, "library");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    for (auto it = found->kernels.begin(); it != found->kernels.end() && room != 0; ++it, --room)
      *kernels++ = it->second;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuKernelGetFunction(CudaFunction* function, CudaKernel kernel) {
  return with_kernel(__func__, kCurrentContext, kernel, [&](Kernel&) {
    *function = reinterpret_cast<CudaFunction>(kernel);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuKernelGetName(const char** name, CudaKernel kernel) {
  return with_kernel(__func__, kInitialised, kernel, [&](Kernel& found) {
    *name = found.entry.name.c_str();
    return CudaResult::SUCCESS;
  });
}

CudaResult cuKernelGetAttribute(int32_t* value, CudaFunctionAttribute attribute, CudaKernel kernel,
                                CudaDevice) {
  return with_kernel(__func__, kInitialised, kernel,
                     [&](Kernel& found) { return attribute_of(found, attribute, *value); });
}

CudaResult cuKernelSetAttribute(CudaFunctionAttribute attribute, int32_t value, CudaKernel kernel,
                                CudaDevice) {
  return with_kernel(__func__, kInitialised, kernel,
                     [&](Kernel& found) { return set_attribute(found, attribute, value); });
}

CudaResult cuKernelGetParamInfo(CudaKernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(__func__, kInitialised, kernel, [&](Kernel& found) {
    if (index >= found.entry.parameters.size()) return CudaResult::INVALID_VALUE;
    *offset = found.entry.parameters[index].offset;
    if (bytes != nullptr) *bytes = found.entry.parameters[index].bytes;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuFuncGetAttribute(int32_t* value, CudaFunctionAttribute attribute, CudaFunction function) {
  return with_kernel(__func__, kCurrentContext, kernel_of(function),
                     [&](Kernel& found) { return attribute_of(found, attribute, *value); });
}

CudaResult cuFuncSetAttribute(CudaFunction function, CudaFunctionAttribute attribute, int32_t value) {
  return with_kernel(__func__, kCurrentContext, kernel_of(function),
                     [&](Kernel& found) { return set_attribute(found, attribute, value); });
}

}  // namespace api
}  // namespace atl::cuda_double
