/// The kernels of a pipeline on one device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/gpu/cuda.h"
#include "backends/cuda/code/code_file.h"
#include "backends/cuda/execution/pipeline_run.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {

/// A kernel as the driver has it, and as one of a device.
struct KernelHandle {
  CudaKernel kernel = nullptr;
  CudaFunction function = nullptr;
};

/// Code that the driver has taken.
class CodeLibrary {
 public:
  CodeLibrary() noexcept;
  /// \param file  not source; a copy is not needed afterwards
  /// Errors: INVALID_ARGUMENT the driver refuses it, with what its compiler said; RESOURCE_EXHAUSTED; UNAVAILABLE the device
  /// is lost.
  static Result<CodeLibrary> load(Cuda& cuda, int32_t device, const CodeFile& file) noexcept;
  CodeLibrary(CodeLibrary&& other) noexcept;
  CodeLibrary& operator=(CodeLibrary&& other) noexcept;
  ~CodeLibrary();

  /// The device has to be current: what was loaded lazily is compiled for it now.
  /// Errors: NOT_FOUND, with the names that there are if the driver tells them; as load().
  Result<KernelHandle> find(const std::string& name) const noexcept;

 private:
  struct JitLog;
  Status failure(const char* call, CudaResult result) const;
  void unload() noexcept;
  std::string names() const;

  Cuda* cuda_ = nullptr;
  int32_t device_ = 0;
  CudaLibrary library_ = nullptr;
  std::string file_;
  std::unique_ptr<JitLog> log_;  // as long as the library: the driver may compile later
};

/// Where a pipeline's code is.
struct CodeSource {
  std::string version_directory;
  CodeNames names;
  std::string nvrtc_libraries;  ///< by commas; Nvrtc::open()
};

/// All kernels of a pipeline, loaded and checked, for all instances on one device. Gives the code back at its end, when
/// nothing of it runs any more. Reading is thread safe.
class DeviceCode {
 public:
  /// Chooses, reads, compiles if it is source, and loads the code; finds each step's kernel; checks the number and sizes of
  /// its arguments where the driver tells them; lets those kernels use as much shared memory as the device has that may need
  /// more than 48 KiB. The device is current afterwards. [control work] Takes long.
  /// Errors: those of the parts; INVALID_ARGUMENT arguments that do not fit the kernel, with step and place.
  static Result<DeviceCode> load(Cuda& cuda, int32_t device, const Pipeline& pipeline,
                                 const CodeSource& source) noexcept;

  /// What cuLaunchKernel takes; null for steps that launch nothing. \param step  its place in Pipeline::steps
  CudaFunction function(size_t step) const noexcept { return functions_[step]; }
  /// What a launch on the device may have.
  const LaunchLimits& limits() const noexcept { return limits_; }
  /// Which file the pipeline's own code is from, for the log; empty: all kernels are imported.
  const std::string& file() const noexcept { return file_; }

 private:
  friend class CodeLoader;
  std::vector<CodeLibrary> libraries_;
  std::vector<CudaFunction> functions_;
  LaunchLimits limits_;
  std::string file_;
};

}  // namespace atl::cuda_backend
