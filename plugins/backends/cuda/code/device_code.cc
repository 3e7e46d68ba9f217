// Loading a pipeline's kernels, and whether its steps fit them.
#include <algorithm>
#include <limits>

#include "atoll/core/text.h"
#include "backends/cuda/code/code.h"
#include "backends/cuda/code/nvrtc.h"

namespace atl::cuda_backend {
namespace {

constexpr uint32_t kPlainSharedBytes = 48 * 1024;
constexpr size_t kHiddenArguments = 2;

int32_t capability_of(const Cuda& cuda, int32_t device) {
  for (const CudaDeviceInfo& info : cuda.devices()) {
    if (info.ordinal == device) return info.capability;
  }
  return 0;
}

/// A constant expression's value; others are known batch by batch.
std::optional<int64_t> constant_of(const Expression& expression) {
  if (!expression.is_constant()) return {};
  const Result<int64_t> value = expression.evaluate(BatchExtents({}));
  return value.ok() ? std::optional(value.value()) : std::nullopt;
}

}  // namespace

/// Loads the code of one pipeline for one device.
class CodeLoader {
 public:
  CodeLoader(Cuda& cuda, int32_t device, const Pipeline& pipeline, const CodeSource& source)
      : cuda_(cuda), device_(device), pipeline_(pipeline), source_(source) {}

  Result<DeviceCode> load() {
    ATOLL_RETURN_IF_ERROR(cuda_.ensure_current(device_));
    ATOLL_RETURN_IF_ERROR(read_limits());
    ATOLL_RETURN_IF_ERROR(load_libraries());
    made_.functions_.resize(pipeline_.steps.size());
    for (size_t i = 0; i < pipeline_.steps.size(); ++i) {
      const PipelineStep& step = pipeline_.steps[i];
      if (step.kind != StepKind::kKernel) continue;
      Status status = load_step(step, made_.functions_[i]);
      if (!status.ok()) {
        return make_status(status.code(), kPipelineFile, ": step ", i + 1, " (", step.kernel,
                           "): ", status.message());
      }
    }
    return std::move(made_);
  }

 private:
  Status attribute(CudaDeviceAttribute which, int32_t& value) {
    return cuda_.call<&CudaDriver::cuDeviceGetAttribute>(device_, &value, which, handle_);
  }
  Status attribute(CudaDeviceAttribute which, uint32_t& value) {
    int32_t found = 0;
    ATOLL_RETURN_IF_ERROR(attribute(which, found));
    value = static_cast<uint32_t>(std::max(found, 0));
    return {};
  }

  Status read_limits() {
    ATOLL_RETURN_IF_ERROR(cuda_.call<&CudaDriver::cuDeviceGet>(device_, &handle_, device_));
    LaunchLimits& limits = made_.limits_;
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxGridX, limits.grid[0]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxGridY, limits.grid[1]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxGridZ, limits.grid[2]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxBlockX, limits.block[0]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxBlockY, limits.block[1]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxBlockZ, limits.block[2]));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxThreadsPerBlock, limits.threads));
    ATOLL_RETURN_IF_ERROR(attribute(CudaDeviceAttribute::kMaxSharedBytesOptIn, limits.shared_bytes));
    limits.shared_bytes = std::max(limits.shared_bytes, kPlainSharedBytes);
    return attribute(CudaDeviceAttribute::kCooperativeLaunch, is_cooperative_);
  }

  /// The pipeline's own code is the last of the libraries, imports are in their order before it.
  Status load_libraries() {
    const int32_t capability = capability_of(cuda_, device_);
    for (const TritonKernel& import : pipeline_.imports) {
      const Result<std::string> name =
          choose_import(source_.version_directory, import.name, import.capability, capability);
      if (!name.ok()) return name.status().clone();
      ATOLL_RETURN_IF_ERROR(load_library(name.value(), capability));
    }
    if (!pipeline_.needs_code()) return {};
    const Result<std::string> name = choose_code(source_.version_directory, source_.names, capability);
    if (!name.ok()) return name.status().clone();
    made_.file_ = name.value();
    return load_library(name.value(), capability);
  }

  Status load_library(const std::string& name, int32_t capability) {
    Result<CodeFile> file = read_code(source_.version_directory, name);
    if (!file.ok()) return std::move(file).status();
    if (file->kind == CodeKind::kSource) ATOLL_RETURN_IF_ERROR(compile(*file, capability));
    Result<CodeLibrary> library = CodeLibrary::load(cuda_, device_, *file);
    if (!library.ok()) return std::move(library).status();
    made_.libraries_.push_back(std::move(library).value());
    return {};
  }

  Status compile(CodeFile& file, int32_t capability) {
    const Result<Nvrtc> compiler = Nvrtc::open(
        source_.nvrtc_libraries.empty() ? kNvrtcLibraries : std::string_view(source_.nvrtc_libraries));
    if (!compiler.ok())
      return make_status(compiler.status().code(), "'", file.name, "': ", compiler.status().message());
    std::vector<std::string> options = pipeline_.nvrtc_options;
    options.push_back(cat("--include-path=", source_.version_directory));
    Result<std::string> code = compiler.value().compile(file.bytes, file.name, capability, options);
    if (!code.ok()) return std::move(code).status();
    file = {cat(file.name, ", compiled"), CodeKind::kPtx, std::move(*code)};
    return check_code(file);
  }

  Status load_step(const PipelineStep& step, CudaFunction& function) {
    const CodeLibrary& library =
        step.import >= 0 ? made_.libraries_[static_cast<size_t>(step.import)] : made_.libraries_.back();
    const Result<KernelHandle> found = library.find(step.kernel);
    if (!found.ok()) return found.status().clone();
    if (step.cooperative && is_cooperative_ == 0)
      return invalid_argument(
          "cooperative: found true, expected false: the GPU cannot launch all blocks together");
    function = found.value().function;
    ATOLL_RETURN_IF_ERROR(check_arguments(step, found.value().kernel));
    ATOLL_RETURN_IF_ERROR(check_block(step, found.value().kernel));
    return allow_shared_memory(step, found.value().kernel);
  }

  /// \param bytes  out: one for each parameter \return false: the driver does not tell
  Result<bool> parameters_of(CudaKernel kernel, std::vector<size_t>& bytes) {
    const CudaDriver& driver = cuda_.driver();
    if (driver.cuKernelGetParamInfo == nullptr) return false;
    while (bytes.size() <= kArgumentsMax + kHiddenArguments) {
      size_t offset = 0, size = 0;
      const CudaResult result = driver.cuKernelGetParamInfo(kernel, bytes.size(), &offset, &size);
      if (result == CudaResult::INVALID_VALUE) break;  // behind the last
      if (result != CudaResult::SUCCESS) return cuda_.report(device_, "cuKernelGetParamInfo", result);
      bytes.push_back(size);
    }
    return true;
  }

  Status check_arguments(const PipelineStep& step, CudaKernel kernel) {
    std::vector<size_t> bytes;
    const Result<bool> told = parameters_of(kernel, bytes);
    if (!told.ok()) return told.status().clone();
    if (!told.value()) return {};
    // The last two of an imported kernel are there only in those of newer compilers, unless it wants their memory.
    const size_t most = step.arguments.size();
    size_t least = most;
    while (step.import >= 0 && least != 0 && least + kHiddenArguments != most &&
           step.arguments[least - 1].buffer.kind == BufferKind::kNone)
      --least;
    if (bytes.size() < least || bytes.size() > most) {
      const size_t hidden = step.import >= 0 ? kHiddenArguments : 0;
      return invalid_argument("args: found ", most - hidden, " arguments, expected ",
                              bytes.size() - std::min(bytes.size(), hidden),
                              hidden == 0 ? "" : cat(" to ", bytes.size()), " for the kernel's ",
                              bytes.size(), " parameters");
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (step.arguments[i].size_bytes() == bytes[i]) continue;
      return invalid_argument("args[", i, "]: found '", step.arguments[i].text, "' of ",
                              step.arguments[i].size_bytes(), " bytes, expected ", bytes[i],
                              " for the kernel's parameter");
    }
    return {};
  }

  Status kernel_attribute(CudaFunctionAttribute which, CudaKernel kernel, int64_t& value) {
    int32_t found = 0;
    ATOLL_RETURN_IF_ERROR(
        cuda_.call<&CudaDriver::cuKernelGetAttribute>(device_, &found, which, kernel, handle_));
    value = found;
    return {};
  }

  /// By its registers a kernel may bear fewer threads than the device.
  Status check_block(const PipelineStep& step, CudaKernel kernel) {
    int64_t most = 0;
    ATOLL_RETURN_IF_ERROR(kernel_attribute(CudaFunctionAttribute::kMaxThreadsPerBlock, kernel, most));
    int64_t threads = 1;
    for (const Expression& side : step.block)
      threads *= std::min(constant_of(side).value_or(1), int64_t{1024});
    if (threads <= most) return {};
    return invalid_argument("block: found ", threads, " threads, expected at most the kernel's ", most);
  }

  Status allow_shared_memory(const PipelineStep& step, CudaKernel kernel) {
    const std::optional<int64_t> wanted = constant_of(step.shared_bytes);
    if (wanted && *wanted <= kPlainSharedBytes) return {};
    int64_t fixed = 0;
    ATOLL_RETURN_IF_ERROR(kernel_attribute(CudaFunctionAttribute::kSharedBytes, kernel, fixed));
    const int64_t room = made_.limits_.shared_bytes - fixed;
    if (wanted.value_or(0) > room) {
      return invalid_argument("shared: found ", *wanted, " bytes, expected at most the ", room,
                              " that the GPU has beside the kernel's own");
    }
    return cuda_.call<&CudaDriver::cuKernelSetAttribute>(
        device_, CudaFunctionAttribute::kMaxDynamicSharedBytes, static_cast<int32_t>(room), kernel, handle_);
  }

  Cuda& cuda_;
  const int32_t device_;
  const Pipeline& pipeline_;
  const CodeSource& source_;
  CudaDevice handle_ = 0;
  int32_t is_cooperative_ = 0;
  DeviceCode made_;
};

Result<DeviceCode> DeviceCode::load(Cuda& cuda, int32_t device, const Pipeline& pipeline,
                                    const CodeSource& source) noexcept {
  return CodeLoader(cuda, device, pipeline, source).load();
}

}  // namespace atl::cuda_backend
