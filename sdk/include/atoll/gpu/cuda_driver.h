/// The part of the CUDA driver's binary interface that Atoll calls: types, numbers, and the table of functions.
///
/// The driver's library is opened at run time, and nothing is linked to it. A symbol's signature depends on the
/// version that it is asked for, so that each has its own fixed one here. The names of functions are the driver's,
/// everything else is named as in the rest of Atoll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "atoll/gpu/cuda_result.h"

namespace atl {

/// The oldest driver that is served, as cuDriverGetVersion counts: 1000 · major + 10 · minor.
inline constexpr int kCudaOldestDriver = 12000;

// --- handles: opaque, the driver's own ---

using CudaDevice = int32_t;       ///< an ordinal
using CudaAddress = uint64_t;     ///< of device memory
using CudaAllocation = uint64_t;  ///< physical memory of cuMemCreate
using CudaContext = struct CudaContextHandle*;
using CudaStream = struct CudaStreamHandle*;
using CudaEvent = struct CudaEventHandle*;
using CudaPool = struct CudaPoolHandle*;
using CudaModule = struct CudaModuleHandle*;
using CudaFunction = struct CudaFunctionHandle*;
using CudaLibrary = struct CudaLibraryHandle*;
using CudaKernel = struct CudaKernelHandle*;  ///< may be cast to CudaFunction where work is launched
using CudaGraph = struct CudaGraphHandle*;
using CudaGraphNode = struct CudaGraphNodeHandle*;
using CudaGraphExec = struct CudaGraphExecHandle*;
using CudaHostFunction = void (*)(void* data);  ///< must make no call of the driver

// --- numbers ---

enum class CudaSymbolState : int32_t { kFound = 0, kNotFound = 1, kDriverTooOld = 2 };
/// cuGetProcAddress: which of a symbol's two forms is meant, by the stream that null stands for.
enum CudaSymbolFlags : uint64_t { kCudaLegacyStream = 1, kCudaStreamPerThread = 2 };

enum class CudaDeviceAttribute : int32_t {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMaxSharedBytesPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kComputeMode = 20,
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kCooperativeLaunch = 95,
  kMaxSharedBytesOptIn = 97,
  kVirtualMemory = 102,
  kMemoryPools = 115,
  kIpcEvents = 125
};
enum class CudaComputeMode : int32_t { kDefault = 0, kProhibited = 2, kExclusiveProcess = 3 };

enum CudaHostAllocFlags : uint32_t { kCudaHostPortable = 1, kCudaHostMapped = 2, kCudaHostWriteCombined = 4 };
enum CudaIpcFlags : uint32_t { kCudaIpcLazyPeerAccess = 1 };  ///< cuIpcOpenMemHandle: the only one there is
enum CudaStreamFlags : uint32_t { kCudaStreamNonBlocking = 1 };
enum CudaEventFlags : uint32_t { kCudaEventBlockingSync = 1, kCudaEventDisableTiming = 2 };

enum class CudaLocationType : int32_t { kNone = 0, kDevice = 1, kHost = 2 };
enum class CudaAllocationType : int32_t { kNone = 0, kPinned = 1 };
enum class CudaHandleType : int32_t { kNone = 0, kFileDescriptor = 1, kFabric = 8 };
enum class CudaMemoryAccess : int32_t { kNone = 0, kRead = 1, kReadWrite = 3 };
enum class CudaGranularity : int32_t { kMinimum = 0, kRecommended = 1 };
/// The value of the first three is an int32_t, of the others a uint64_t of bytes.
enum class CudaPoolAttribute : int32_t {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,  ///< may be set, to 0 only
  kUsedCurrent = 7,
  kUsedHigh = 8  ///< may be set, to 0 only
};

enum class CudaJitOption : int32_t {
  kMaxRegisters = 0,
  kInfoLog = 3,  ///< char*
  kInfoLogBytes = 4,
  kErrorLog = 5,  ///< char*
  kErrorLogBytes = 6,
  kOptimizationLevel = 7,
  kTarget = 9,
  kLineInfo = 13,
};
enum class CudaLibraryOption : int32_t { kBinaryIsPreserved = 1 };
enum class CudaFunctionAttribute : int32_t {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicSharedBytes = 8
};
enum class CudaLaunchAttributeId : int32_t { kIgnore = 0, kCooperative = 2, kClusterSize = 4 };

enum class CudaCaptureMode : int32_t { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CudaCaptureState : int32_t { kNone = 0, kActive = 1, kInvalidated = 2 };
enum class CudaGraphNodeType : int32_t {
  kKernel = 0,
  kCopy = 1,
  kSet = 2,
  kHost = 3,
  kGraph = 4,
  kEmpty = 5
};
enum class CudaGraphInstantiation : int32_t { kSuccess = 0, kError = 1 };
enum class CudaGraphUpdate : int32_t { kSuccess = 0, kError = 1, kTopologyChanged = 2, kNodeTypeChanged = 3 };

// --- structs ---

struct CudaUuid {
  unsigned char bytes[16];
};
static_assert(sizeof(CudaUuid) == 16);

/// What a process gives to another one, so that it can map the allocation that an address lies in.
struct CudaIpcHandle {
  char bytes[64];
};
static_assert(sizeof(CudaIpcHandle) == 64);

struct CudaLocation {
  CudaLocationType type = CudaLocationType::kNone;
  int32_t id = 0;  ///< kDevice: its ordinal
};
static_assert(sizeof(CudaLocation) == 8);

struct CudaPoolOptions {
  CudaAllocationType type = CudaAllocationType::kPinned;
  CudaHandleType handles = CudaHandleType::kNone;
  CudaLocation location;
  void* security_attributes = nullptr;  ///< of other systems
  size_t max_bytes = 0;                 ///< 0: the device's own limit
  uint16_t usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(CudaPoolOptions) == 88 && offsetof(CudaPoolOptions, max_bytes) == 24);

struct CudaAllocationOptions {
  CudaAllocationType type = CudaAllocationType::kPinned;
  CudaHandleType handles = CudaHandleType::kNone;
  CudaLocation location;
  void* security_attributes = nullptr;  ///< of other systems
  uint8_t compression = 0;
  uint8_t gpu_direct_rdma = 0;
  uint16_t usage = 0;
  unsigned char reserved[4] = {};
};
static_assert(sizeof(CudaAllocationOptions) == 32 && offsetof(CudaAllocationOptions, compression) == 24);

struct CudaAccess {
  CudaLocation location;
  CudaMemoryAccess access = CudaMemoryAccess::kNone;
};
static_assert(sizeof(CudaAccess) == 12);

struct alignas(8) CudaLaunchAttribute {
  CudaLaunchAttributeId id = CudaLaunchAttributeId::kIgnore;
  char reserved[4] = {};
  union {
    char room[64] = {};
    int32_t cooperative;       ///< kCooperative: not 0
    uint32_t cluster_size[3];  ///< kClusterSize: blocks in x, y, z
  };
};
static_assert(sizeof(CudaLaunchAttribute) == 72 && offsetof(CudaLaunchAttribute, room) == 8);

struct CudaLaunch {
  uint32_t grid[3] = {1, 1, 1};   ///< blocks
  uint32_t block[3] = {1, 1, 1};  ///< threads
  uint32_t shared_bytes = 0;      ///< dynamic shared memory of a block
  CudaStream stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  uint32_t attribute_count = 0;
};
static_assert(sizeof(CudaLaunch) == 56 && offsetof(CudaLaunch, stream) == 32);

struct CudaKernelNode {
  CudaFunction function = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  void** arguments = nullptr;  ///< one pointer an argument
  void** extra = nullptr;
  CudaKernel kernel = nullptr;  ///< where function is null
  CudaContext context = nullptr;
};
static_assert(sizeof(CudaKernelNode) == 72 && offsetof(CudaKernelNode, arguments) == 40);

struct CudaGraphInstantiate {
  uint64_t flags = 0;
  CudaStream upload_stream = nullptr;
  CudaGraphNode failed_node = nullptr;                               ///< out
  CudaGraphInstantiation result = CudaGraphInstantiation::kSuccess;  ///< out
};
static_assert(sizeof(CudaGraphInstantiate) == 32);

struct CudaGraphUpdateInfo {
  CudaGraphUpdate result = CudaGraphUpdate::kSuccess;
  CudaGraphNode failed_node = nullptr;
  CudaGraphNode failed_from = nullptr;
};
static_assert(sizeof(CudaGraphUpdateInfo) == 24);

// --- functions ---

/// The two that are found by their names in the library; all others are asked from cuGetProcAddress_v2.
using CudaInitFunction = CudaResult (*)(uint32_t flags);
using CudaSymbolFunction = CudaResult (*)(const char* symbol, void** function, int32_t version,
                                          uint64_t flags, CudaSymbolState* state);
inline constexpr const char* kCudaInitSymbol = "cuInit";
inline constexpr const char* kCudaSymbolSymbol = "cuGetProcAddress_v2";

/// name, version to ask for, whether a driver without it is refused (kRequired, kOptional), parameters.
/// All return a CudaResult.
#define ATOLL_CUDA_SYSTEM_SYMBOLS(X)                                                                      \
  X(cuDriverGetVersion, 2020, kRequired, (int32_t * version))                                             \
  X(cuGetErrorName, 6000, kRequired, (CudaResult result, const char** name))                              \
  X(cuGetErrorString, 6000, kRequired, (CudaResult result, const char** text))                            \
  X(cuDeviceGetCount, 2000, kRequired, (int32_t * count))                                                 \
  X(cuDeviceGet, 2000, kRequired, (CudaDevice * device, int32_t ordinal))                                 \
  X(cuDeviceGetName, 2000, kRequired, (char* name, int32_t room_bytes, CudaDevice device))                \
  X(cuDeviceGetAttribute, 2000, kRequired,                                                                \
    (int32_t * value, CudaDeviceAttribute attribute, CudaDevice device))                                  \
  X(cuDeviceGetUuid, 11040, kRequired, (CudaUuid * uuid, CudaDevice device))                              \
  X(cuDeviceTotalMem, 3020, kRequired, (size_t * bytes, CudaDevice device))                               \
  X(cuDeviceGetPCIBusId, 4010, kRequired, (char* id, int32_t room_bytes, CudaDevice device))              \
  X(cuDeviceCanAccessPeer, 4000, kRequired, (int32_t * can, CudaDevice device, CudaDevice peer))          \
  X(cuDevicePrimaryCtxRetain, 7000, kRequired, (CudaContext * context, CudaDevice device))                \
  X(cuDevicePrimaryCtxRelease, 11000, kRequired, (CudaDevice device))                                     \
  X(cuDevicePrimaryCtxGetState, 7000, kRequired, (CudaDevice device, uint32_t * flags, int32_t * active)) \
  X(cuCtxSetCurrent, 4000, kRequired, (CudaContext context))                                              \
  X(cuCtxGetCurrent, 4000, kRequired, (CudaContext * context))

#define ATOLL_CUDA_MEMORY_SYMBOLS(X)                                                                         \
  X(cuMemAlloc, 3020, kRequired, (CudaAddress * address, size_t bytes))                                      \
  X(cuMemFree, 3020, kRequired, (CudaAddress address))                                                       \
  X(cuMemGetInfo, 3020, kRequired, (size_t * free_bytes, size_t * total_bytes))                              \
  X(cuMemGetAddressRange, 3020, kRequired, (CudaAddress * base, size_t * bytes, CudaAddress address))        \
  X(cuMemHostAlloc, 2020, kRequired, (void** address, size_t bytes, uint32_t flags))                         \
  X(cuMemFreeHost, 2000, kRequired, (void* address))                                                         \
  X(cuMemHostRegister, 6050, kRequired, (void* address, size_t bytes, uint32_t flags))                       \
  X(cuMemHostUnregister, 4000, kRequired, (void* address))                                                   \
  X(cuMemcpyAsync, 4000, kRequired, (CudaAddress to, CudaAddress from, size_t bytes, CudaStream stream))     \
  X(cuMemcpyPeerAsync, 4000, kRequired,                                                                      \
    (CudaAddress to, CudaContext to_context, CudaAddress from, CudaContext from_context, size_t bytes,       \
     CudaStream stream))                                                                                     \
  X(cuMemsetD8Async, 3020, kRequired,                                                                        \
    (CudaAddress to, unsigned char value, size_t count, CudaStream stream))                                  \
  X(cuMemsetD32Async, 3020, kRequired, (CudaAddress to, uint32_t value, size_t count, CudaStream stream))    \
  X(cuMemPoolCreate, 11020, kRequired, (CudaPool * pool, const CudaPoolOptions* options))                    \
  X(cuMemPoolDestroy, 11020, kRequired, (CudaPool pool))                                                     \
  X(cuMemPoolSetAttribute, 11020, kRequired, (CudaPool pool, CudaPoolAttribute attribute, void* value))      \
  X(cuMemPoolGetAttribute, 11020, kRequired, (CudaPool pool, CudaPoolAttribute attribute, void* value))      \
  X(cuMemPoolSetAccess, 11020, kRequired, (CudaPool pool, const CudaAccess* access, size_t count))           \
  X(cuMemPoolTrimTo, 11020, kRequired, (CudaPool pool, size_t keep_bytes))                                   \
  X(cuMemAllocFromPoolAsync, 11020, kRequired,                                                               \
    (CudaAddress * address, size_t bytes, CudaPool pool, CudaStream stream))                                 \
  X(cuMemFreeAsync, 11020, kRequired, (CudaAddress address, CudaStream stream))                              \
  X(cuIpcGetMemHandle, 4010, kRequired, (CudaIpcHandle * handle, CudaAddress address))                       \
  X(cuIpcOpenMemHandle, 11000, kRequired, (CudaAddress * address, CudaIpcHandle handle, uint32_t flags))     \
  X(cuIpcCloseMemHandle, 4010, kRequired, (CudaAddress address))                                             \
  X(cuMemGetAllocationGranularity, 10020, kRequired,                                                         \
    (size_t * bytes, const CudaAllocationOptions* options, CudaGranularity which))                           \
  X(cuMemAddressReserve, 10020, kRequired,                                                                   \
    (CudaAddress * address, size_t bytes, size_t alignment, CudaAddress wanted, unsigned long long flags))   \
  X(cuMemAddressFree, 10020, kRequired, (CudaAddress address, size_t bytes))                                 \
  X(cuMemCreate, 10020, kRequired,                                                                           \
    (CudaAllocation * allocation, size_t bytes, const CudaAllocationOptions* options,                        \
     unsigned long long flags))                                                                              \
  X(cuMemRelease, 10020, kRequired, (CudaAllocation allocation))                                             \
  X(cuMemMap, 10020, kRequired,                                                                              \
    (CudaAddress address, size_t bytes, size_t offset, CudaAllocation allocation, unsigned long long flags)) \
  X(cuMemUnmap, 10020, kRequired, (CudaAddress address, size_t bytes))                                       \
  X(cuMemSetAccess, 10020, kRequired,                                                                        \
    (CudaAddress address, size_t bytes, const CudaAccess* access, size_t count))

#define ATOLL_CUDA_STREAM_SYMBOLS(X)                                                                      \
  X(cuStreamCreateWithPriority, 5050, kRequired, (CudaStream * stream, uint32_t flags, int32_t priority)) \
  X(cuStreamDestroy, 4000, kRequired, (CudaStream stream))                                                \
  X(cuStreamSynchronize, 2000, kRequired, (CudaStream stream))                                            \
  X(cuStreamQuery, 2000, kRequired, (CudaStream stream))                                                  \
  X(cuStreamWaitEvent, 3020, kRequired, (CudaStream stream, CudaEvent event, uint32_t flags))             \
  X(cuStreamBeginCapture, 10010, kRequired, (CudaStream stream, CudaCaptureMode mode))                    \
  X(cuStreamEndCapture, 10000, kRequired, (CudaStream stream, CudaGraph * graph))                         \
  X(cuStreamIsCapturing, 10000, kRequired, (CudaStream stream, CudaCaptureState * state))                 \
  X(cuLaunchHostFunc, 10000, kRequired, (CudaStream stream, CudaHostFunction function, void* data))       \
  X(cuEventCreate, 2000, kRequired, (CudaEvent * event, uint32_t flags))                                  \
  X(cuEventDestroy, 4000, kRequired, (CudaEvent event))                                                   \
  X(cuEventRecord, 2000, kRequired, (CudaEvent event, CudaStream stream))                                 \
  X(cuEventQuery, 2000, kRequired, (CudaEvent event))                                                     \
  X(cuEventSynchronize, 2000, kRequired, (CudaEvent event))                                               \
  X(cuEventElapsedTime, 2000, kRequired, (float* milliseconds, CudaEvent start, CudaEvent end))

#define ATOLL_CUDA_KERNEL_SYMBOLS(X)                                                                         \
  X(cuModuleLoadDataEx, 2010, kRequired,                                                                     \
    (CudaModule * module, const void* image, uint32_t option_count, CudaJitOption* options, void** values))  \
  X(cuModuleUnload, 2000, kRequired, (CudaModule module))                                                    \
  X(cuModuleGetFunction, 2000, kRequired, (CudaFunction * function, CudaModule module, const char* name))    \
  X(cuLibraryLoadData, 12000, kRequired,                                                                     \
    (CudaLibrary * library, const void* code, CudaJitOption* jit_options, void** jit_values,                 \
     uint32_t jit_option_count, CudaLibraryOption* options, void** values, uint32_t option_count))           \
  X(cuLibraryUnload, 12000, kRequired, (CudaLibrary library))                                                \
  X(cuLibraryGetKernel, 12000, kRequired, (CudaKernel * kernel, CudaLibrary library, const char* name))      \
  X(cuKernelGetFunction, 12000, kRequired, (CudaFunction * function, CudaKernel kernel))                     \
  X(cuKernelGetAttribute, 12000, kRequired,                                                                  \
    (int32_t * value, CudaFunctionAttribute attribute, CudaKernel kernel, CudaDevice device))                \
  X(cuKernelSetAttribute, 12000, kRequired,                                                                  \
    (CudaFunctionAttribute attribute, int32_t value, CudaKernel kernel, CudaDevice device))                  \
  X(cuKernelGetParamInfo, 12040, kOptional,                                                                  \
    (CudaKernel kernel, size_t index, size_t * offset, size_t * bytes))                                      \
  X(cuLibraryGetKernelCount, 12040, kOptional, (uint32_t * count, CudaLibrary library))                      \
  X(cuLibraryEnumerateKernels, 12040, kOptional, (CudaKernel * kernels, uint32_t room, CudaLibrary library)) \
  X(cuKernelGetName, 12030, kOptional, (const char** name, CudaKernel kernel))                               \
  X(cuFuncGetAttribute, 2020, kRequired,                                                                     \
    (int32_t * value, CudaFunctionAttribute attribute, CudaFunction function))                               \
  X(cuFuncSetAttribute, 9000, kRequired,                                                                     \
    (CudaFunction function, CudaFunctionAttribute attribute, int32_t value))                                 \
  X(cuLaunchKernel, 4000, kRequired,                                                                         \
    (CudaFunction function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,             \
     uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, CudaStream stream, void** arguments,         \
     void** extra))                                                                                          \
  X(cuLaunchKernelEx, 11060, kRequired,                                                                      \
    (const CudaLaunch* launch, CudaFunction function, void** arguments, void** extra))

#define ATOLL_CUDA_GRAPH_SYMBOLS(X)                                                                         \
  X(cuGraphDestroy, 10000, kRequired, (CudaGraph graph))                                                    \
  X(cuGraphGetNodes, 10000, kRequired, (CudaGraph graph, CudaGraphNode * nodes, size_t * count))            \
  X(cuGraphNodeGetType, 10000, kRequired, (CudaGraphNode node, CudaGraphNodeType * type))                   \
  X(cuGraphKernelNodeGetParams, 12000, kRequired, (CudaGraphNode node, CudaKernelNode * parameters))        \
  X(cuGraphInstantiateWithParams, 12000, kRequired,                                                         \
    (CudaGraphExec * exec, CudaGraph graph, CudaGraphInstantiate * parameters))                             \
  X(cuGraphExecDestroy, 10000, kRequired, (CudaGraphExec exec))                                             \
  X(cuGraphUpload, 11010, kRequired, (CudaGraphExec exec, CudaStream stream))                               \
  X(cuGraphLaunch, 10000, kRequired, (CudaGraphExec exec, CudaStream stream))                               \
  X(cuGraphExecUpdate, 12000, kRequired, (CudaGraphExec exec, CudaGraph graph, CudaGraphUpdateInfo * info)) \
  X(cuGraphExecKernelNodeSetParams, 12000, kRequired,                                                       \
    (CudaGraphExec exec, CudaGraphNode node, const CudaKernelNode* parameters))

#define ATOLL_CUDA_SYMBOLS(X)  \
  ATOLL_CUDA_SYSTEM_SYMBOLS(X) \
  ATOLL_CUDA_MEMORY_SYMBOLS(X) \
  ATOLL_CUDA_STREAM_SYMBOLS(X) \
  ATOLL_CUDA_KERNEL_SYMBOLS(X) \
  ATOLL_CUDA_GRAPH_SYMBOLS(X)

/// The driver's functions by their names. All that are kRequired are set; a kOptional one may be null.
struct CudaDriver {
#define ATOLL_CUDA_MEMBER(name, version, need, parameters) CudaResult(*name) parameters = nullptr;
  ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_MEMBER)
#undef ATOLL_CUDA_MEMBER
};

/// The name of `&CudaDriver::cuMemAlloc`: "cuMemAlloc".
template <auto kMember>
constexpr const char* cuda_symbol_name() noexcept {
#define ATOLL_CUDA_NAME(name, version, need, parameters)                          \
  if constexpr (std::is_same_v<decltype(kMember), decltype(&CudaDriver::name)>) { \
    if constexpr (kMember == &CudaDriver::name) return #name;                     \
  }
  ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_NAME)
#undef ATOLL_CUDA_NAME
  return "";
}

}  // namespace atl
