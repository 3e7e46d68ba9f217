/// GPUs for models of ONNX Runtime: whether there are any that its CUDA provider can use, and what instances use of them.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/core/status.h"
#include "atoll/gpu/cuda.h"
#include "backends/onnxruntime/scratch.h"

namespace atl::ort {

/// Outlives the instances. The provider is loaded when GPUs are there for the first time; a machine without any never has
/// it mapped.
class GpuSource {
 public:
  /// \param libraries  what CUDA's provider is linked with, files and folders, opened before it is
  GpuSource(Host& host, std::vector<std::string> libraries);
  GpuSource(const GpuSource&) = delete;
  GpuSource& operator=(const GpuSource&) = delete;

  /// That there are no GPUs, or no ONNX Runtime yet, is no failure. [control]
  Status open() noexcept;
  /// After the last instance. [control]
  void close() noexcept;

  /// Looks again, after ONNX Runtime has come. [any]
  void look() noexcept;

  /// Why no model can run on a GPU, in one line; OK: they can. [any]
  Status usable() const noexcept;
  /// The devices; may be empty. [any]
  Followed<Cuda>::Hold cuda() const noexcept { return cuda_.hold(); }
  ScratchSource& device_memory() noexcept { return device_memory_; }
  ScratchSource& pinned_memory() noexcept { return pinned_memory_; }

 private:
  Status probe() noexcept;

  Host& host_;
  const std::vector<std::string> libraries_;
  mutable std::mutex mutex_;  ///< for usable_
  Status usable_;
  std::mutex looking_;      ///< for is_loaded_
  bool is_loaded_ = false;  ///< the provider stays so
  Followed<Cuda> cuda_;
  ScratchSource device_memory_;
  ScratchSource pinned_memory_;
};

/// Opens libraries for good, so that those which name them later find them: paths of files, or of folders in which those of
/// CUDA are looked for by their names, in the order in which they need each other.
/// Errors: NOT_FOUND there is no such path; FAILED_PRECONDITION what the loader said.
Status open_libraries(const std::vector<std::string>& paths) noexcept;

}  // namespace atl::ort
