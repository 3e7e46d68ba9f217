/// Kernels that the Triton language's compiler left in its cache: K.json with K.cubin or K.ptx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::cuda_backend {

inline constexpr size_t kTritonJsonBytesMax = 1024 * 1024;

/// What K.json says.
struct TritonKernel {
  std::string name;        ///< of the files, without their ends
  std::string function;    ///< the kernel's name in the code
  int32_t capability = 0;  ///< 10 · major + minor that it was compiled for
  uint32_t threads = 0;    ///< of a block: warps · 32
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  uint64_t global_scratch_bytes = 0;   ///< of one program
  uint64_t profile_scratch_bytes = 0;  ///< the same
};

/// Errors: INVALID_ARGUMENT no such JSON, or a kernel that cannot be run here: for another kind of device, with tensor
/// descriptors, with more than one block a program.
Result<TritonKernel> parse_triton_json(std::string_view text, const std::string& name) noexcept;

/// Reads NAME.json of the version directory. Errors: NOT_FOUND there is none; as parse_triton_json().
Result<TritonKernel> read_triton_kernel(const std::string& version_directory,
                                        const std::string& name) noexcept;

}  // namespace atl::cuda_backend
