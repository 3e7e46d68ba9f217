/// The codes that calls of the CUDA driver return: their names, and what they mean for who called.
#pragma once

#include <cstdint>
#include <string_view>

namespace atl {

/// What to do about a code. Stable numbers.
enum class CudaFault : uint32_t {
  kNone = 0,     ///< success, or not ready yet
  kCall = 1,     ///< the call was wrong, or is not supported: this piece of work fails, the device is fine
  kMemory = 2,   ///< no memory: what is kept back may be given up and the call repeated
  kCapture = 3,  ///< recording a graph failed: the same work can be done without one
  kDeviceLost =
      4,  ///< sticky: every later call on the device gives the same until the process is started anew
  kUnavailable = 5  ///< the driver or the device cannot be used at all
};

/// name, number, fault. The driver's "CUDA_ERROR_" is left out of the names; one that the system has as a macro has a
/// line after it.
#define ATOLL_CUDA_RESULTS(X)                          \
  X(SUCCESS, 0, kNone)                                 \
  X(INVALID_VALUE, 1, kCall)                           \
  X(OUT_OF_MEMORY, 2, kMemory)                         \
  X(NOT_INITIALIZED, 3, kUnavailable)                  \
  X(DEINITIALIZED, 4, kUnavailable)                    \
  X(STUB_LIBRARY, 34, kUnavailable)                    \
  X(DEVICE_UNAVAILABLE, 46, kDeviceLost)               \
  X(NO_DEVICE, 100, kUnavailable)                      \
  X(INVALID_DEVICE, 101, kDeviceLost)                  \
  X(INVALID_IMAGE, 200, kCall)                         \
  X(INVALID_CONTEXT, 201, kCall)                       \
  X(MAP_FAILED_, 205, kCall)                           \
  X(UNMAP_FAILED, 206, kCall)                          \
  X(ALREADY_MAPPED, 208, kCall)                        \
  X(NO_BINARY_FOR_GPU, 209, kCall)                     \
  X(ECC_UNCORRECTABLE, 214, kDeviceLost)               \
  X(CONTEXT_ALREADY_IN_USE, 216, kCall)                \
  X(PEER_ACCESS_UNSUPPORTED, 217, kCall)               \
  X(INVALID_PTX, 218, kCall)                           \
  X(NVLINK_UNCORRECTABLE, 220, kDeviceLost)            \
  X(JIT_COMPILER_NOT_FOUND, 221, kCall)                \
  X(UNSUPPORTED_PTX_VERSION, 222, kCall)               \
  X(JIT_COMPILATION_DISABLED, 223, kCall)              \
  X(CONTAINED, 226, kDeviceLost)                       \
  X(OPERATING_SYSTEM, 304, kCall)                      \
  X(INVALID_HANDLE, 400, kCall)                        \
  X(ILLEGAL_STATE, 401, kCall)                         \
  X(NOT_FOUND, 500, kCall)                             \
  X(NOT_READY, 600, kNone)                             \
  X(ILLEGAL_ADDRESS, 700, kDeviceLost)                 \
  X(LAUNCH_OUT_OF_RESOURCES, 701, kCall)               \
  X(LAUNCH_TIMEOUT, 702, kDeviceLost)                  \
  X(PEER_ACCESS_ALREADY_ENABLED, 704, kCall)           \
  X(PEER_ACCESS_NOT_ENABLED, 705, kCall)               \
  X(CONTEXT_IS_DESTROYED, 709, kCall)                  \
  X(ASSERT, 710, kDeviceLost)                          \
  X(HARDWARE_STACK_ERROR, 714, kDeviceLost)            \
  X(ILLEGAL_INSTRUCTION, 715, kDeviceLost)             \
  X(MISALIGNED_ADDRESS, 716, kDeviceLost)              \
  X(INVALID_ADDRESS_SPACE, 717, kDeviceLost)           \
  X(INVALID_PC, 718, kDeviceLost)                      \
  X(LAUNCH_FAILED, 719, kDeviceLost)                   \
  X(COOPERATIVE_LAUNCH_TOO_LARGE, 720, kCall)          \
  X(TENSOR_MEMORY_LEAK, 721, kDeviceLost)              \
  X(NOT_PERMITTED, 800, kCall)                         \
  X(NOT_SUPPORTED, 801, kCall)                         \
  X(SYSTEM_NOT_READY, 802, kUnavailable)               \
  X(SYSTEM_DRIVER_MISMATCH, 803, kUnavailable)         \
  X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, kUnavailable) \
  X(MPS_CONNECTION_FAILED, 805, kUnavailable)          \
  X(MPS_SERVER_NOT_READY, 807, kUnavailable)           \
  X(MPS_CLIENT_TERMINATED, 810, kDeviceLost)           \
  X(STREAM_CAPTURE_UNSUPPORTED, 900, kCapture)         \
  X(STREAM_CAPTURE_INVALIDATED, 901, kCapture)         \
  X(STREAM_CAPTURE_MERGE, 902, kCapture)               \
  X(STREAM_CAPTURE_UNMATCHED, 903, kCapture)           \
  X(STREAM_CAPTURE_UNJOINED, 904, kCapture)            \
  X(STREAM_CAPTURE_ISOLATION, 905, kCapture)           \
  X(STREAM_CAPTURE_IMPLICIT, 906, kCapture)            \
  X(CAPTURED_EVENT, 907, kCapture)                     \
  X(STREAM_CAPTURE_WRONG_THREAD, 908, kCapture)        \
  X(GRAPH_EXEC_UPDATE_FAILURE, 910, kCapture)          \
  X(UNKNOWN, 999, kDeviceLost)

/// What a call returned. Drivers return numbers that have no name here too.
enum class CudaResult : int32_t {
#define ATOLL_CUDA_RESULT(name, number, fault) name = number,
  ATOLL_CUDA_RESULTS(ATOLL_CUDA_RESULT)
#undef ATOLL_CUDA_RESULT
};

/// "OUT_OF_MEMORY"; empty for a number without a name.
constexpr std::string_view cuda_result_name(CudaResult result) noexcept {
  std::string_view found;
  switch (result) {
#define ATOLL_CUDA_RESULT(name, number, fault) \
  case CudaResult::name:                       \
    found = #name;                             \
    break;
    ATOLL_CUDA_RESULTS(ATOLL_CUDA_RESULT)
#undef ATOLL_CUDA_RESULT
  }
  if (found.ends_with('_')) found.remove_suffix(1);
  return found;
}

/// A number without a name counts as a wrong call: only what is known to last marks a device lost.
constexpr CudaFault cuda_fault(CudaResult result) noexcept {
  switch (result) {
#define ATOLL_CUDA_RESULT(name, number, fault) \
  case CudaResult::name:                       \
    return CudaFault::fault;
    ATOLL_CUDA_RESULTS(ATOLL_CUDA_RESULT)
#undef ATOLL_CUDA_RESULT
  }
  return CudaFault::kCall;
}

}  // namespace atl
