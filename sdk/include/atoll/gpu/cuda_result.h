/// The codes that functions of the CUDA driver return (CUresult): their names, and what they mean
/// for who called.
///
///     const CudaResult result = cuda.driver().cuEventQuery(event);
///     if (result == CudaResult::NOT_READY) return false;
///     Status status = cuda.report(device, "cuEventQuery", result);  // uses cuda_fault() and the names
///
/// Plugins mostly see none of the codes: Cuda::call() and Cuda::report() (cuda.h) make a Status of
/// them, whose message has the code's name and number: "GPU 0: cuMemAlloc gave
/// CUDA_ERROR_OUT_OF_MEMORY (2)".
///
/// What matters most about a code is whether it persists. Of most codes that count as kDeviceLost,
/// NVIDIA's documentation says that the process must be terminated and relaunched to use CUDA
/// again. No plugin can mend such a failure, and a call that is made all the same only gives the
/// same code. So all of them learn it from one place, which is Cuda::lost(). A code that a newer
/// driver brings counts as kCall until it has a row here.
#pragma once

#include <cstdint>
#include <string_view>

namespace atl {

/// What to do about a code, and what Cuda::report() makes of it. The numbers are stable.
enum class CudaFault : uint32_t {
  /// Success, or not ready yet.
  kNone = 0,
  /// The call was wrong, or is not supported. This piece of work fails and the device is fine.
  /// INTERNAL.
  kCall = 1,
  /// There is no memory. What is kept back may be given up and the call repeated, as memory/cuda
  /// does with its pool. RESOURCE_EXHAUSTED.
  kMemory = 2,
  /// Recording a graph failed. The same work can be done without a graph, as backends/cuda does.
  /// INTERNAL.
  kCapture = 3,
  /// The failure persists: every later call on the device gives the same, until the process is
  /// started anew. The device is marked lost, for all plugins. UNAVAILABLE.
  kDeviceLost = 4,
  /// The driver or the device cannot be used at all, as at the start of a process. UNAVAILABLE.
  kUnavailable = 5
};

/// The codes: name, number, fault. The driver's prefix "CUDA_ERROR_" is left out of the names. A
/// name that the system has as a macro has a line after it here (MAP_FAILED_), which
/// cuda_result_name() takes off.
#define ATOLL_CUDA_RESULTS(X)                                                                  \
  /* arguments, memory, and whether the driver can be used: memory/cuda says in the log why */ \
  /* there are no GPUs, and what can be done about it (STUB_LIBRARY: the library is one to */  \
  /* link to) */                                                                               \
  X(SUCCESS, 0, kNone)                                                                         \
  X(INVALID_VALUE, 1, kCall)                                                                   \
  X(OUT_OF_MEMORY, 2, kMemory)                                                                 \
  X(NOT_INITIALIZED, 3, kUnavailable)                                                          \
  X(DEINITIALIZED, 4, kUnavailable)                                                            \
  X(STUB_LIBRARY, 34, kUnavailable)                                                            \
  X(DEVICE_UNAVAILABLE, 46, kDeviceLost)                                                       \
  /* devices: NO_DEVICE is a machine without a GPU, which serves everything that needs none */ \
  X(NO_DEVICE, 100, kUnavailable)                                                              \
  X(INVALID_DEVICE, 101, kDeviceLost)                                                          \
  /* contexts, code and mappings: backends/cuda explains those of code (INVALID_IMAGE, */      \
  /* NO_BINARY_FOR_GPU, INVALID_PTX and so on) to whoever loads the model, with the */         \
  /* compiler's log */                                                                         \
  X(INVALID_IMAGE, 200, kCall)                                                                 \
  X(INVALID_CONTEXT, 201, kCall)                                                               \
  X(MAP_FAILED_, 205, kCall)                                                                   \
  X(UNMAP_FAILED, 206, kCall)                                                                  \
  X(ALREADY_MAPPED, 208, kCall)                                                                \
  X(NO_BINARY_FOR_GPU, 209, kCall)                                                             \
  /* errors of the hardware (ECC, NVLink, contained errors) persist, and the device is */      \
  /* lost; the other codes here are those of code and of contexts */                           \
  X(ECC_UNCORRECTABLE, 214, kDeviceLost)                                                       \
  X(CONTEXT_ALREADY_IN_USE, 216, kCall)                                                        \
  X(PEER_ACCESS_UNSUPPORTED, 217, kCall)                                                       \
  X(INVALID_PTX, 218, kCall)                                                                   \
  X(NVLINK_UNCORRECTABLE, 220, kDeviceLost)                                                    \
  X(JIT_COMPILER_NOT_FOUND, 221, kCall)                                                        \
  X(UNSUPPORTED_PTX_VERSION, 222, kCall)                                                       \
  X(JIT_COMPILATION_DISABLED, 223, kCall)                                                      \
  X(CONTAINED, 226, kDeviceLost)                                                               \
  /* the system, handles and names: NOT_FOUND is a kernel that the code does not have, */      \
  /* NOT_READY the answer to a query of work that still runs */                                \
  X(OPERATING_SYSTEM, 304, kCall)                                                              \
  X(INVALID_HANDLE, 400, kCall)                                                                \
  X(ILLEGAL_STATE, 401, kCall)                                                                 \
  X(NOT_FOUND, 500, kCall)                                                                     \
  X(NOT_READY, 600, kNone)                                                                     \
  /* what went wrong while a kernel was launched or ran: the faults of a running kernel */     \
  /* break the context, so they persist and the device is lost; a launch that asks for */      \
  /* too much fails alone */                                                                   \
  X(ILLEGAL_ADDRESS, 700, kDeviceLost)                                                         \
  X(LAUNCH_OUT_OF_RESOURCES, 701, kCall)                                                       \
  X(LAUNCH_TIMEOUT, 702, kDeviceLost)                                                          \
  X(PEER_ACCESS_ALREADY_ENABLED, 704, kCall)                                                   \
  X(PEER_ACCESS_NOT_ENABLED, 705, kCall)                                                       \
  X(CONTEXT_IS_DESTROYED, 709, kCall)                                                          \
  X(ASSERT, 710, kDeviceLost)                                                                  \
  X(HARDWARE_STACK_ERROR, 714, kDeviceLost)                                                    \
  X(ILLEGAL_INSTRUCTION, 715, kDeviceLost)                                                     \
  X(MISALIGNED_ADDRESS, 716, kDeviceLost)                                                      \
  X(INVALID_ADDRESS_SPACE, 717, kDeviceLost)                                                   \
  X(INVALID_PC, 718, kDeviceLost)                                                              \
  X(LAUNCH_FAILED, 719, kDeviceLost)                                                           \
  X(COOPERATIVE_LAUNCH_TOO_LARGE, 720, kCall)                                                  \
  X(TENSOR_MEMORY_LEAK, 721, kDeviceLost)                                                      \
  /* permissions, the state of the system's driver, and MPS, the service through which */      \
  /* processes share a GPU */                                                                  \
  X(NOT_PERMITTED, 800, kCall)                                                                 \
  X(NOT_SUPPORTED, 801, kCall)                                                                 \
  X(SYSTEM_NOT_READY, 802, kUnavailable)                                                       \
  X(SYSTEM_DRIVER_MISMATCH, 803, kUnavailable)                                                 \
  X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, kUnavailable)                                         \
  X(MPS_CONNECTION_FAILED, 805, kUnavailable)                                                  \
  X(MPS_SERVER_NOT_READY, 807, kUnavailable)                                                   \
  X(MPS_CLIENT_TERMINATED, 810, kDeviceLost)                                                   \
  /* recording and changing of graphs: backends/cuda then serves without the graph */          \
  X(STREAM_CAPTURE_UNSUPPORTED, 900, kCapture)                                                 \
  X(STREAM_CAPTURE_INVALIDATED, 901, kCapture)                                                 \
  X(STREAM_CAPTURE_MERGE, 902, kCapture)                                                       \
  X(STREAM_CAPTURE_UNMATCHED, 903, kCapture)                                                   \
  X(STREAM_CAPTURE_UNJOINED, 904, kCapture)                                                    \
  X(STREAM_CAPTURE_ISOLATION, 905, kCapture)                                                   \
  X(STREAM_CAPTURE_IMPLICIT, 906, kCapture)                                                    \
  X(CAPTURED_EVENT, 907, kCapture)                                                             \
  X(STREAM_CAPTURE_WRONG_THREAD, 908, kCapture)                                                \
  X(GRAPH_EXEC_UPDATE_FAILURE, 910, kCapture)                                                  \
  /* an error that the driver has no name for counts as a lost device */                       \
  X(UNKNOWN, 999, kDeviceLost)

/// What a function returned. Newer drivers return numbers that have no name here.
enum class CudaResult : int32_t {
// One enumerator for each row.
#define ATOLL_CUDA_RESULT(name, number, fault) name = number,
  ATOLL_CUDA_RESULTS(ATOLL_CUDA_RESULT)
#undef ATOLL_CUDA_RESULT
};

/// "OUT_OF_MEMORY"; empty for a number without a name. The text is a constant, and stays. The name
/// is the same for all drivers: it comes from the table above and not from cuGetErrorName. [any]
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
  // The line that keeps a name apart from a macro.
  if (found.ends_with('_')) found.remove_suffix(1);
  return found;
}

/// What to do about a result. A number without a name counts as a wrong call, because only what is
/// known to last may mark a device lost for the whole process. [any]
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
