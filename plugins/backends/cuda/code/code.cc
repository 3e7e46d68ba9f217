#include "backends/cuda/code/code.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "atoll/core/text.h"

namespace atl::cuda_backend {
namespace {

constexpr size_t kLogBytes = 16 * 1024;

/// What a refusal means, in words; null: nothing that is known of code.
const char* meaning_of(CudaResult result) {
  switch (result) {
    case CudaResult::INVALID_IMAGE:
      return "the driver does not take it for code";
    case CudaResult::NO_BINARY_FOR_GPU:
      return "it has no code for this GPU";
    case CudaResult::INVALID_PTX:
      return "its PTX does not compile";
    case CudaResult::JIT_COMPILER_NOT_FOUND:
      return "PTX cannot be compiled, the driver's compiler is not installed";
    case CudaResult::UNSUPPORTED_PTX_VERSION:
      return "its PTX is of a newer CUDA than the driver knows: install a newer driver, or compile with an older toolkit, or "
             "to a cubin";
    case CudaResult::JIT_COMPILATION_DISABLED:
      return "PTX cannot be compiled, CUDA_DISABLE_PTX_JIT forbids it";
    default:
      return nullptr;
  }
}

}  // namespace

/// The options of a load and what the driver writes there.
struct CodeLibrary::JitLog {
  char text[kLogBytes] = {};
  CudaJitOption options[2] = {CudaJitOption::kErrorLog, CudaJitOption::kErrorLogBytes};
  // A number stands in a pointer's place.
  void* values[2] = {text, reinterpret_cast<void*>(uintptr_t{kLogBytes})};
};

CodeLibrary::CodeLibrary() noexcept = default;
CodeLibrary::~CodeLibrary() { unload(); }
CodeLibrary::CodeLibrary(CodeLibrary&& other) noexcept { *this = std::move(other); }

CodeLibrary& CodeLibrary::operator=(CodeLibrary&& other) noexcept {
  if (this == &other) return *this;
  unload();
  cuda_ = other.cuda_;
  device_ = other.device_;
  library_ = std::exchange(other.library_, nullptr);
  file_ = std::move(other.file_);
  log_ = std::move(other.log_);
  return *this;
}

void CodeLibrary::unload() noexcept {
  if (library_ == nullptr) return;
  // Whatever comes back, it is gone, or the device is lost and it cannot be given back.
  (void)cuda_->call<&CudaDriver::cuLibraryUnload>(device_, library_).ok();
  library_ = nullptr;
}

Status CodeLibrary::failure(const char* call, CudaResult result) const {
  const char* meaning = meaning_of(result);
  Status status = cuda_->report(device_, call, result);
  if (meaning == nullptr) return make_status(status.code(), "'", file_, "': ", status.message());
  std::string said(log_->text, strnlen(log_->text, kLogBytes));
  while (said.ends_with('\n')) said.pop_back();
  return invalid_argument("'", file_, "': ", meaning, " (", status.message(), ")", said.empty() ? "" : ": ",
                          said);
}

Result<CodeLibrary> CodeLibrary::load(Cuda& cuda, int32_t device, const CodeFile& file) noexcept {
  ATOLL_RETURN_IF_ERROR(cuda.lost(device));
  CodeLibrary made;
  made.cuda_ = &cuda;
  made.device_ = device;
  made.file_ = file.name;
  made.log_ = std::make_unique<JitLog>();
  CudaLibrary library = nullptr;
  const CudaResult result = cuda.driver().cuLibraryLoadData(&library, file.bytes.c_str(), made.log_->options,
                                                            made.log_->values, 2, nullptr, nullptr, 0);
  if (result != CudaResult::SUCCESS) return made.failure("cuLibraryLoadData", result);
  made.library_ = library;
  return made;
}

Result<KernelHandle> CodeLibrary::find(const std::string& name) const noexcept {
  ATOLL_RETURN_IF_ERROR(cuda_->lost(device_));
  KernelHandle found;
  CudaResult result = cuda_->driver().cuLibraryGetKernel(&found.kernel, library_, name.c_str());
  if (result == CudaResult::NOT_FOUND)
    return not_found("'", file_, "': found no kernel '", name, "'", names(),
                     "; those of C++ need extern \"C\"");
  if (result != CudaResult::SUCCESS) return failure("cuLibraryGetKernel", result);
  result = cuda_->driver().cuKernelGetFunction(&found.function, found.kernel);
  if (result != CudaResult::SUCCESS) return failure("cuKernelGetFunction", result);
  return found;
}

std::string CodeLibrary::names() const {
  const CudaDriver& driver = cuda_->driver();
  uint32_t count = 0;
  if (driver.cuLibraryGetKernelCount == nullptr || driver.cuLibraryEnumerateKernels == nullptr ||
      driver.cuKernelGetName == nullptr ||
      driver.cuLibraryGetKernelCount(&count, library_) != CudaResult::SUCCESS)
    return {};
  constexpr uint32_t kMost = 50;
  std::vector<CudaKernel> kernels(std::min(count, kMost));
  if (kernels.empty()) return ", it has none";
  if (driver.cuLibraryEnumerateKernels(kernels.data(), static_cast<uint32_t>(kernels.size()), library_) !=
      CudaResult::SUCCESS)
    return {};
  std::vector<std::string> names;
  for (CudaKernel kernel : kernels) {
    const char* name = nullptr;
    if (driver.cuKernelGetName(&name, kernel) == CudaResult::SUCCESS && name != nullptr)
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += cat(text.empty() ? ", expected one of " : ", ", name);
  return text + (count > kMost ? ", ..." : "");
}

}  // namespace atl::cuda_backend
