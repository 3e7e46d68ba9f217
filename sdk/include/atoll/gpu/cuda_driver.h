/// The part of the CUDA driver's binary interface that Atoll calls: types, numbers, and the table
/// of functions.
///
///     cuda.call<&CudaDriver::cuMemsetD8Async>(device, address, 0, bytes, stream);  // reports a failure
///     const CudaResult result = cuda.driver().cuEventQuery(event);                 // the driver's own result
///
/// The driver's library (libcuda.so.1) is opened at run time by memory/cuda, and nothing is linked
/// to it, so a server without GPUs runs where there is no driver. The signature of a function
/// depends on the version of CUDA that the function is asked for; here each function has one fixed
/// version. What each function and type means is described in NVIDIA's CUDA Driver API. The names
/// of functions are the driver's; everything else is named as in the rest of Atoll.
///
/// Plugins get the table from Cuda::driver() (cuda.h), with contexts, streams and the reporting of
/// failures. The table is larger than what the plugins of this server call: a plugin that computes
/// on GPUs in another way finds the usual functions here. All functions may be called from any
/// thread. Those that work on a device use the calling thread's current context, which
/// Cuda::ensure_current() sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "atoll/gpu/cuda_result.h"

namespace atl {

/// The oldest driver that is used, as cuDriverGetVersion counts: 1000 · major + 10 · minor of the
/// CUDA version. 12000 is CUDA 12.0, which came with driver 525.
inline constexpr int kCudaOldestDriver = 12000;

// --- handles: opaque, the driver's own; whoever made one destroys it by a function of the same group ---

/// What cuDeviceGet gives for an ordinal.
using CudaDevice = int32_t;
/// An address in a device's memory, which the CPU must not follow.
using CudaAddress = uint64_t;
/// Physical memory that cuMemCreate has made; it has no address before cuMemMap.
using CudaAllocation = uint64_t;
using CudaContext = struct CudaContextHandle*;
using CudaStream = struct CudaStreamHandle*;
using CudaEvent = struct CudaEventHandle*;
using CudaPool = struct CudaPoolHandle*;
using CudaModule = struct CudaModuleHandle*;
using CudaFunction = struct CudaFunctionHandle*;
using CudaLibrary = struct CudaLibraryHandle*;
/// A kernel of a CudaLibrary. May be cast to CudaFunction where work is launched.
using CudaKernel = struct CudaKernelHandle*;
using CudaGraph = struct CudaGraphHandle*;
using CudaGraphNode = struct CudaGraphNodeHandle*;
using CudaGraphExec = struct CudaGraphExecHandle*;
/// What cuLaunchHostFunc calls on a thread of the driver's. It must make no call of the driver.
using CudaHostFunction = void (*)(void* data);

// --- numbers ---

/// Out of cuGetProcAddress: whether the function was found, and if not, whether a newer driver has
/// it.
enum class CudaSymbolState : int32_t { kFound = 0, kNotFound = 1, kDriverTooOld = 2 };
/// Into cuGetProcAddress: which of a function's two forms is meant, by the stream that a null
/// CudaStream stands for. Atoll asks for the legacy form.
enum CudaSymbolFlags : uint64_t { kCudaLegacyStream = 1, kCudaStreamPerThread = 2 };

/// What cuDeviceGetAttribute tells. backends/cuda checks the launches of a model against the first
/// seven, kMaxSharedBytesOptIn and kCooperativeLaunch. memory/cuda looks at the compute mode and
/// capability, and whether there are pools and virtual memory.
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
/// Who may use a device: any number of processes, none, or one. Set by nvidia-smi.
enum class CudaComputeMode : int32_t { kDefault = 0, kProhibited = 2, kExclusiveProcess = 3 };

/// Of cuMemHostAlloc and cuMemHostRegister. kCudaHostPortable pins the memory for all devices, as
/// memory/pinned wants it.
enum CudaHostAllocFlags : uint32_t { kCudaHostPortable = 1, kCudaHostMapped = 2, kCudaHostWriteCombined = 4 };
/// Of cuIpcOpenMemHandle: the only one that there is, and the driver demands it.
enum CudaIpcFlags : uint32_t { kCudaIpcLazyPeerAccess = 1 };
/// The stream does not wait for the legacy default stream.
enum CudaStreamFlags : uint32_t { kCudaStreamNonBlocking = 1 };
/// A thread that waits for the event sleeps instead of spinning; the event records no time.
enum CudaEventFlags : uint32_t { kCudaEventBlockingSync = 1, kCudaEventDisableTiming = 2 };

/// Where memory of a pool or of cuMemCreate lies, and who may reach it. The enumerations after this
/// one belong to the same calls; memory/cuda asks for pinned memory of a device that is read and
/// written, without a handle for other processes.
enum class CudaLocationType : int32_t { kNone = 0, kDevice = 1, kHost = 2 };
enum class CudaAllocationType : int32_t { kNone = 0, kPinned = 1 };
enum class CudaHandleType : int32_t { kNone = 0, kFileDescriptor = 1, kFabric = 8 };
enum class CudaMemoryAccess : int32_t { kNone = 0, kRead = 1, kReadWrite = 3 };
enum class CudaGranularity : int32_t { kMinimum = 0, kRecommended = 1 };
/// Of cuMemPoolSetAttribute and cuMemPoolGetAttribute. The value of the first three is an int32_t,
/// of the others a uint64_t of bytes. memory/cuda sets kReleaseThreshold, to how many freed bytes
/// the pool keeps.
enum class CudaPoolAttribute : int32_t {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  /// May be set, to 0 only.
  kReservedHigh = 6,
  kUsedCurrent = 7,
  /// May be set, to 0 only.
  kUsedHigh = 8
};

/// What the driver's compiler of PTX is told and what it reports. The value of each option stands
/// in a void*. backends/cuda asks for the error log, to show it when a model's code does not
/// compile.
enum class CudaJitOption : int32_t {
  kMaxRegisters = 0,
  /// A char*, into which the compiler writes.
  kInfoLog = 3,
  kInfoLogBytes = 4,
  /// A char*, into which the compiler writes.
  kErrorLog = 5,
  kErrorLogBytes = 6,
  kOptimizationLevel = 7,
  kTarget = 9,
  kLineInfo = 13,
};
/// Of cuLibraryLoadData: the code's bytes stay where they are, so the driver needs no copy.
enum class CudaLibraryOption : int32_t { kBinaryIsPreserved = 1 };
/// What a kernel needs and may use. backends/cuda reads the most threads of a block and the fixed
/// shared memory, and sets how much dynamic shared memory a launch may ask for.
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
/// What CudaLaunch::attributes may say. backends/cuda launches cooperative kernels so.
enum class CudaLaunchAttributeId : int32_t { kIgnore = 0, kCooperative = 2, kClusterSize = 4 };

/// Which calls of other threads are forbidden while a stream is captured. backends/cuda takes
/// kThreadLocal, so that other threads go on.
enum class CudaCaptureMode : int32_t { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
/// Out of cuStreamIsCapturing.
enum class CudaCaptureState : int32_t { kNone = 0, kActive = 1, kInvalidated = 2 };
/// What a node of a graph does.
enum class CudaGraphNodeType : int32_t {
  kKernel = 0,
  kCopy = 1,
  kSet = 2,
  kHost = 3,
  kGraph = 4,
  kEmpty = 5
};
/// Out of CudaGraphInstantiate.
enum class CudaGraphInstantiation : int32_t { kSuccess = 0, kError = 1 };
/// Out of CudaGraphUpdateInfo: why a graph could not be changed in place.
enum class CudaGraphUpdate : int32_t { kSuccess = 0, kError = 1, kTopologyChanged = 2, kNodeTypeChanged = 3 };

// --- structs: laid out as the driver's, which the assertions check; reserved bytes are 0 ---

/// CUuuid: the number of a device, or of a part of one (MIG).
struct CudaUuid {
  unsigned char bytes[16];
};
static_assert(sizeof(CudaUuid) == 16);

/// CUipcMemHandle, the same bytes as a cudaIpcMemHandle_t: what a process gives to another one, so
/// that it can map the allocation that an address lies in. Clients send these 64 bytes when they
/// register CUDA shared memory.
struct CudaIpcHandle {
  char bytes[64];
};
static_assert(sizeof(CudaIpcHandle) == 64);

/// CUmemLocation
struct CudaLocation {
  CudaLocationType type = CudaLocationType::kNone;
  /// For kDevice, the ordinal.
  int32_t id = 0;
};
static_assert(sizeof(CudaLocation) == 8);

/// CUmemPoolProps: the kind of memory that a pool has.
struct CudaPoolOptions {
  CudaAllocationType type = CudaAllocationType::kPinned;
  CudaHandleType handles = CudaHandleType::kNone;
  CudaLocation location;
  /// Of other operating systems; null here.
  void* security_attributes = nullptr;
  /// 0: the device's own limit.
  size_t max_bytes = 0;
  uint16_t usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(CudaPoolOptions) == 88 && offsetof(CudaPoolOptions, max_bytes) == 24);

/// CUmemAllocationProp: the kind of memory that cuMemCreate makes.
struct CudaAllocationOptions {
  CudaAllocationType type = CudaAllocationType::kPinned;
  CudaHandleType handles = CudaHandleType::kNone;
  CudaLocation location;
  /// Of other operating systems; null here.
  void* security_attributes = nullptr;
  uint8_t compression = 0;
  uint8_t gpu_direct_rdma = 0;
  uint16_t usage = 0;
  unsigned char reserved[4] = {};
};
static_assert(sizeof(CudaAllocationOptions) == 32 && offsetof(CudaAllocationOptions, compression) == 24);

/// CUmemAccessDesc: who may do what with mapped memory. Without it, memory that was mapped cannot
/// be used.
struct CudaAccess {
  CudaLocation location;
  CudaMemoryAccess access = CudaMemoryAccess::kNone;
};
static_assert(sizeof(CudaAccess) == 12);

/// CUlaunchAttribute: one setting of a launch. The id says which member of the union counts.
struct alignas(8) CudaLaunchAttribute {
  CudaLaunchAttributeId id = CudaLaunchAttributeId::kIgnore;
  char reserved[4] = {};
  union {
    char room[64] = {};
    /// For kCooperative, not 0: all blocks run at the same time and may wait for each other.
    int32_t cooperative;
    /// For kClusterSize: the blocks of a cluster in x, y and z.
    uint32_t cluster_size[3];
  };
};
static_assert(sizeof(CudaLaunchAttribute) == 72 && offsetof(CudaLaunchAttribute, room) == 8);

/// CUlaunchConfig: how a kernel is launched by cuLaunchKernelEx.
struct CudaLaunch {
  /// Blocks in x, y and z.
  uint32_t grid[3] = {1, 1, 1};
  /// Threads of a block in x, y and z.
  uint32_t block[3] = {1, 1, 1};
  /// Dynamic shared memory of each block.
  uint32_t shared_bytes = 0;
  CudaStream stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  uint32_t attribute_count = 0;
};
static_assert(sizeof(CudaLaunch) == 56 && offsetof(CudaLaunch, stream) == 32);

/// CUDA_KERNEL_NODE_PARAMS: a launch inside of a graph.
struct CudaKernelNode {
  CudaFunction function = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  /// One pointer to each argument.
  void** arguments = nullptr;
  void** extra = nullptr;
  /// Counts where function is null.
  CudaKernel kernel = nullptr;
  CudaContext context = nullptr;
};
static_assert(sizeof(CudaKernelNode) == 72 && offsetof(CudaKernelNode, arguments) == 40);

/// CUDA_GRAPH_INSTANTIATE_PARAMS: how a graph is made executable. The last two members are results.
struct CudaGraphInstantiate {
  uint64_t flags = 0;
  CudaStream upload_stream = nullptr;
  CudaGraphNode failed_node = nullptr;
  CudaGraphInstantiation result = CudaGraphInstantiation::kSuccess;
};
static_assert(sizeof(CudaGraphInstantiate) == 32);

/// CUgraphExecUpdateResultInfo: what came of cuGraphExecUpdate.
struct CudaGraphUpdateInfo {
  CudaGraphUpdate result = CudaGraphUpdate::kSuccess;
  CudaGraphNode failed_node = nullptr;
  CudaGraphNode failed_from = nullptr;
};
static_assert(sizeof(CudaGraphUpdateInfo) == 24);

// --- functions ---

/// The two functions that are found in the library by their names; all others are asked from
/// cuGetProcAddress_v2.
using CudaInitFunction = CudaResult (*)(uint32_t flags);
using CudaSymbolFunction = CudaResult (*)(const char* symbol, void** function, int32_t version,
                                          uint64_t flags, CudaSymbolState* state);
inline constexpr const char* kCudaInitSymbol = "cuInit";
inline constexpr const char* kCudaSymbolSymbol = "cuGetProcAddress_v2";

/// The tables of functions. Each row has the name, the version of CUDA that the function is asked
/// for (as kCudaOldestDriver counts), whether a driver without it is refused (kRequired) or leaves
/// a null pointer (kOptional), and the parameters. All functions return a CudaResult.
///
/// The driver and its devices. memory/cuda asks for the version first, so that a driver that is too
/// old is reported as such, and not by the first function that it lacks. Then it describes each
/// device (CudaDeviceInfo), and takes and gives back the primary context behind Cuda::context() and
/// Cuda::ensure_current(). No plugin here calls cuGetErrorName and cuGetErrorString, because
/// cuda_result.h has the names, nor cuDeviceCanAccessPeer, cuDevicePrimaryCtxGetState and
/// cuCtxGetCurrent.
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

/// Memory, in this order:
/// - cuMemAlloc and cuMemFree are for tests and measurements only: tensors come from pools.
/// - cuMemGetInfo is Memory::device_usage(). cuMemGetAddressRange measures a client's allocation.
/// - cuMemHostAlloc and cuMemFreeHost are the slab of memory/pinned.
/// - cuMemcpyAsync copies between the host and a device or on one device, cuMemcpyPeerAsync between
/// two devices; memory/cuda, backends/cuda and backends/onnxruntime copy tensors by them. The
/// memset functions fill memory; backends/cuda uses the one for bytes.
/// - cuMemPool... and cuMemAllocFromPoolAsync are the pool that memory/cuda has on each device. It
/// trims the pool when an allocation finds no memory, and then tries once more.
/// - cuIpc... map memory that a client has allocated with cudaMalloc ("cuda_shared_memory").
/// - The last ones, from cuMemGetAllocationGranularity on, are virtual memory. memory/cuda reserves
/// a range of addresses, and maps physical memory there as a buffer grows (Memory::grow()).
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

/// Streams and events. Cuda::acquire_stream() and acquire_event() make them; backends/cuda also
/// makes its own, with a priority and with times. cuStreamWaitEvent orders work behind what filled
/// a buffer (Buffer::ready_after) without the host. cuStreamBeginCapture and cuStreamEndCapture
/// record a graph. cuEventElapsedTime gives milliseconds, by which backends/cuda measures the
/// phases of an execution. No plugin here calls cuStreamQuery, cuStreamIsCapturing and
/// cuLaunchHostFunc: what is to run after an event goes to Cuda::post_when_done(), where it may
/// call the driver.
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

/// Code and its launch. backends/cuda loads a model's code (cubin, fatbin or PTX) as a library,
/// finds its kernels by name, checks their limits and, where the driver can tell, the sizes of
/// their parameters, and launches them. The functions to list a library's kernels serve the message
/// about a kernel that is not there. cuLaunchKernelEx is for cooperative launches. Modules
/// (cuModule...) are the older way, which tests and measurements use.
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

/// Graphs: work that was recorded once and is launched by one call. backends/cuda instantiates a
/// graph for each size of batch, uploads it when an instance is made, and launches it; it neither
/// looks into a graph nor changes one.
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

/// All of them.
#define ATOLL_CUDA_SYMBOLS(X)  \
  ATOLL_CUDA_SYSTEM_SYMBOLS(X) \
  ATOLL_CUDA_MEMORY_SYMBOLS(X) \
  ATOLL_CUDA_STREAM_SYMBOLS(X) \
  ATOLL_CUDA_KERNEL_SYMBOLS(X) \
  ATOLL_CUDA_GRAPH_SYMBOLS(X)

/// The driver's functions by their names. All that are kRequired are set; a kOptional one may be
/// null.
struct CudaDriver {
#define ATOLL_CUDA_MEMBER(name, version, need, parameters) CudaResult(*name) parameters = nullptr;
  ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_MEMBER)
#undef ATOLL_CUDA_MEMBER
};

/// The name of a member, for messages: "cuMemAlloc" for `&CudaDriver::cuMemAlloc`. Empty for a
/// pointer that is none of them. [any]
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
