/// Tensors as they travel from socket to backend and back: borrowed bytes in one or several buffers.
///
/// These structs own nothing and are copied as values. Names, shapes, lists of buffers and the bytes they
/// point to belong to whoever made the tensor: the maker of the request for inputs, the response and its sink
/// for outputs.
///
/// Elements are in row-major order, little-endian, without padding; an element of BYTES is a uint32 with its
/// length and then its bytes. Shapes count elements, sizes count bytes. An input may come in several buffers,
/// at any address, because the frontend leaves the bytes where the network put them:
///
///     for (const Buffer& buffer : input.buffers) {
///       if (!is_host_ready(buffer)) return wants_host_memory(input);  // atoll/memory/memory.h
///       hash.add(buffer.data, buffer.size_bytes);
///     }
///
/// A backend that wants one aligned piece calls atl::backends::input_values() or contiguous()
/// (atoll/backend/values.h), for BYTES input_texts() (atoll/backend/bytes.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/arena.h"

namespace atl {

/// Element types. The numbers are those of TRITONSERVER_DataType in Triton's C API, and up to FP64 those of
/// ModelConfig's DataType, whose name for kBytes is TYPE_STRING.
enum class DataType : uint32_t {
  kInvalid = 0,
  kBool = 1,
  kUint8 = 2,
  kUint16 = 3,
  kUint32 = 4,
  kUint64 = 5,
  kInt8 = 6,
  kInt16 = 7,
  kInt32 = 8,
  kInt64 = 9,
  kFp16 = 10,
  kFp32 = 11,
  kFp64 = 12,
  kBytes = 13,
  kBf16 = 14
};
/// Numbers below this one are datatypes, kInvalid included.
inline constexpr uint32_t kDataTypeCount = 15;

/// The name that KServe V2 has for the type, such as "FP32"; "<invalid>" for kInvalid and for numbers that
/// are no datatype. NUL-terminated.
constexpr std::string_view data_type_name(DataType type) noexcept {
  constexpr std::string_view kNames[] = {"<invalid>", "BOOL", "UINT8", "UINT16", "UINT32",
                                         "UINT64",    "INT8", "INT16", "INT32",  "INT64",
                                         "FP16",      "FP32", "FP64",  "BYTES",  "BF16"};
  auto index = static_cast<uint32_t>(type);
  return index < kDataTypeCount ? kNames[index] : kNames[0];
}
/// The opposite. Names are compared byte for byte; kInvalid for a name that is none.
constexpr DataType data_type_from_name(std::string_view name) noexcept {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    if (data_type_name(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}
/// Bytes that one element takes; 0 for BYTES, whose elements differ in size, for kInvalid and for numbers
/// that are no datatype. BOOL takes one byte.
constexpr uint32_t data_type_size_bytes(DataType type) noexcept {
  constexpr uint8_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 2};
  auto index = static_cast<uint32_t>(type);
  return index < kDataTypeCount ? kSizes[index] : 0;
}

/// The number of elements of a shape: the product of its dimensions. An empty shape is that of a scalar and
/// counts 1. Nothing is returned for a negative dimension, or when the product does not fit into 63 bits: a
/// shape that a client sent is checked by this.
constexpr std::optional<int64_t> element_count(std::span<const int64_t> shape) noexcept {
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

/// Where bytes are. The numbers are those of TRITONSERVER_MemoryType in Triton's C API. The CPU may read and
/// write kCpu and kCpuPinned. kCpuPinned is memory of the host that the CUDA driver has locked, so that a GPU
/// copies from and to it without a detour.
enum class MemoryKind : uint32_t { kCpu = 0, kCpuPinned = 1, kGpu = 2 };

/// The point in a device's work from which on a buffer's bytes may be used: the device writes them while the
/// buffer is already handed on. Owned by the memory provider, or by the backend that filled the buffer; lives
/// as long as the buffer. All functions may be called from any thread [any].
class DeviceEvent {
 public:
  /// Whether the bytes may be used, or are lost: wait() tells which and does not block then.
  virtual bool is_reached() noexcept = 0;
  /// Blocks until the point is reached.
  /// Errors, with which the bytes are lost: INTERNAL the device failed; UNAVAILABLE the device is lost.
  virtual Status wait() noexcept = 0;
  /// The event in the device's own terms (a CUevent), so that work on the same device can be put behind it
  /// without blocking the host. Null: there is none, and only wait() helps. If such work of the same device
  /// succeeded, wait() does not fail.
  virtual void* native_handle() noexcept = 0;

 protected:
  ~DeviceEvent() = default;
};

/// A piece of memory that somebody else owns. `data` may be null when size_bytes is 0. Nobody but the maker
/// of an input writes to its bytes; but a client may change those of its shared memory at any time, so copy
/// what you check before you check it (InputTensor::kShared).
struct Buffer {
  /// For kGpu a device address, which the CPU may not follow; see atoll/gpu/device_memory.h.
  void* data = nullptr;
  uint64_t size_bytes = 0;
  MemoryKind kind = MemoryKind::kCpu;
  /// For kGpu the CUDA ordinal, else 0.
  int32_t device_id = 0;
  /// The bytes must not be used before this event is reached; null: they may be used now. Buffers of the CPU
  /// mostly have null.
  DeviceEvent* ready_after = nullptr;
};
static_assert(sizeof(Buffer) == 32);

/// Most dimensions that a tensor may have; validation refuses a request with more of them.
inline constexpr uint32_t kMaxRank = 32;

/// One input of a request: what KServe V2 calls an entry of "inputs". Everything it points to belongs to the
/// request's maker and lives until the request is released. Request::inputs has all of them;
/// Request::find_input() finds one by its name.
struct InputTensor {
  enum Flags : uint32_t {
    /// A control or state tensor that the scheduler has added: it does not come from the client, and is not
    /// validated against the configuration's inputs.
    kAddedByScheduler = 1,
    /// The input came as bytes alone, without name, type and shape (a raw binary request over HTTP).
    /// Validation deduces these from the configuration of a model that has one input.
    kRaw = 2,
    /// The bytes are in memory that the client may change while they are read, so two readings may give
    /// different values. Caches leave such requests out.
    kShared = 4,
  };
  /// NUL-terminated. Empty in a raw input until validation has deduced it.
  std::string_view name;
  DataType datatype = DataType::kInvalid;
  /// Bits of Flags.
  uint32_t flags = 0;
  /// With the batch dimension in front if the model batches. Until validation it is what the client sent,
  /// then what the backend is to see: a configured `reshape` is applied.
  std::span<const int64_t> shape;
  /// The bytes, in order. Elements may begin in one buffer and end in the next.
  std::span<const Buffer> buffers;
  /// Sum over the buffers. After validation it is what shape and datatype say, save for BYTES and for inputs
  /// with is_non_linear_format_io.
  uint64_t size_bytes = 0;
  /// Position in ModelInfo::inputs; set by validation.
  int32_t spec_index = -1;
  /// Not used; keeps the size a multiple of 8 bytes.
  int32_t reserved = 0;
};
static_assert(sizeof(InputTensor) == 72);

/// One output of a response: what KServe V2 calls an entry of "outputs". Made by Response::add_output(),
/// given its buffer by Response::allocate(). The sink finds out by the name which requested output it is, and
/// so where its bytes go.
struct OutputTensor {
  /// NUL-terminated; lives as long as the response.
  std::string_view name;
  DataType datatype = DataType::kInvalid;
  uint32_t reserved = 0;
  /// With the batch dimension in front if the model batches. The request's part of a batch has the request's
  /// batch size there, not the batch's.
  std::span<const int64_t> shape;
  /// Set by Response::allocate(). The backend fills it before it sends the response. It may make
  /// buffer.size_bytes smaller where there is less to send than it had asked for.
  Buffer buffer;
  /// For the sink that allocated the buffer; nobody else changes it.
  uint64_t sink_data = 0;
};
static_assert(sizeof(OutputTensor) == 80);

/// The type of a parameter's value. The numbers are those of TRITONSERVER_ParameterType in Triton's C API.
enum class ParameterType : uint32_t { kString = 0, kInt = 1, kBool = 2, kDouble = 3, kBytes = 4 };

/// A named value that goes with a request or a response: an entry of "parameters" in KServe V2, or a header
/// that the frontend was told to forward. What it means is up to the model: parameters that the protocol
/// itself knows, such as priority or sequence_id, are members of Request instead. `type` says which member
/// holds the value: `text` for kString and kBytes, else one of the union.
struct Parameter {
  std::string_view key;  ///< NUL-terminated
  ParameterType type = ParameterType::kString;
  uint32_t reserved = 0;
  /// NUL-terminated for kString. Empty for the other types but kBytes.
  std::string_view text;
  union {
    int64_t int_value = 0;
    double double_value;
    bool bool_value;
  };
};
static_assert(sizeof(Parameter) == 48);

}  // namespace atl
