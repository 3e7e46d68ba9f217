/// Tensors as they travel from socket to backend and back: borrowed bytes in one or several buffers.
///
/// These structs own nothing and are copied as values. Names, shapes, lists of buffers and the bytes they point
/// to belong to whoever made the tensor: the maker of the request for inputs, the response and its sink for
/// outputs. Elements are in row-major order, little-endian, without padding; an element of BYTES is a uint32
/// with its length and then its bytes. Shapes count elements, sizes bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/arena.h"

namespace atl {

/// Element types, with the numbers of the Triton C ABI and of ModelConfig's DataType up to FP64.
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
inline constexpr uint32_t kDataTypeCount = 15;

/// The name on the wire: "FP32"; "<invalid>" for kInvalid and unknown numbers. NUL-terminated.
constexpr std::string_view data_type_name(DataType type) noexcept {
  constexpr std::string_view kNames[] = {"<invalid>", "BOOL", "UINT8", "UINT16", "UINT32",
                                         "UINT64",    "INT8", "INT16", "INT32",  "INT64",
                                         "FP16",      "FP32", "FP64",  "BYTES",  "BF16"};
  auto index = static_cast<uint32_t>(type);
  return index < kDataTypeCount ? kNames[index] : kNames[0];
}
/// kInvalid for a name that is none.
constexpr DataType data_type_from_name(std::string_view name) noexcept {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    if (data_type_name(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}
/// Bytes an element takes; 0 for BYTES (variable), kInvalid and unknown numbers.
constexpr uint32_t data_type_size_bytes(DataType type) noexcept {
  constexpr uint8_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 2};
  auto index = static_cast<uint32_t>(type);
  return index < kDataTypeCount ? kSizes[index] : 0;
}

/// Product of a shape's dimensions; an empty shape counts 1 (a scalar). Nothing for a negative dimension or
/// when the product does not fit into 63 bits.
constexpr std::optional<int64_t> element_count(std::span<const int64_t> shape) noexcept {
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

/// Where bytes are. Numbers of the Triton C ABI. Only kCpu and kCpuPinned may be read and written by a CPU.
enum class MemoryKind : uint32_t { kCpu = 0, kCpuPinned = 1, kGpu = 2 };

/// The point in a device's work from which on a buffer's bytes may be used. Owned by the memory provider
/// or the backend that filled the buffer; lives as long as the buffer. [any]
class DeviceEvent {
 public:
  /// Whether it has been reached.
  virtual bool is_reached() noexcept = 0;
  /// Blocks until it has. Errors: the bytes are lost: INTERNAL the device failed, UNAVAILABLE it is lost.
  virtual Status wait() noexcept = 0;
  /// An event of the buffer's device (a CUevent), for work that is to run after it without the host having to wait;
  /// null: there is none. After work of the same device that was put behind it succeeded, wait() does not fail.
  virtual void* native_handle() noexcept = 0;

 protected:
  ~DeviceEvent() = default;
};

/// Borrowed bytes. Null is allowed with size 0. Bytes of inputs are not written by anybody but their maker;
/// those of shared memory the client may change at any time, so what was checked has to be checked on a copy.
struct Buffer {
  void* data = nullptr;  ///< for kGpu a device pointer, which the CPU may not follow
  uint64_t size_bytes = 0;
  MemoryKind kind = MemoryKind::kCpu;
  int32_t device_id = 0;               ///< for kGpu the CUDA ordinal
  DeviceEvent* ready_after = nullptr;  ///< before it the bytes must not be used; null: they may be
};
static_assert(sizeof(Buffer) == 32);

/// Most dimensions a tensor may have.
inline constexpr uint32_t kMaxRank = 32;

/// One input of a request. Everything it points to belongs to the request's maker and lives until the request
/// is released.
struct InputTensor {
  enum Flags : uint32_t {
    kAddedByScheduler = 1,  ///< control and state tensors: not from the client, not validated against it
    kRaw = 2,               ///< came without name, type and shape: to be deduced from the configuration
    kShared = 4,  ///< in memory that its client may change meanwhile: it may be read as two different things
  };
  std::string_view name;  ///< NUL-terminated; empty if kRaw, until it is deduced
  DataType datatype = DataType::kInvalid;
  uint32_t flags = 0;  ///< Flags
  /// With the batch dimension if the model batches. What the client sent until validation; then what the
  /// backend sees (configured reshape applied).
  std::span<const int64_t> shape;
  std::span<const Buffer> buffers;  ///< in order; an element of BYTES may cross buffers
  uint64_t size_bytes = 0;          ///< sum over the buffers
  int32_t spec_index = -1;          ///< position in ModelInfo::inputs; set by validation
  int32_t reserved = 0;
};
static_assert(sizeof(InputTensor) == 72);

/// One output of a response, made by Response::add_output(). Which requested output it is, and so where its
/// bytes go, is told by its name.
struct OutputTensor {
  std::string_view name;  ///< NUL-terminated; lives as long as the response
  DataType datatype = DataType::kInvalid;
  uint32_t reserved = 0;
  std::span<const int64_t> shape;  ///< with the batch dimension if the model batches
  Buffer buffer;                   ///< set by Response::allocate; the backend fills it before it sends
  uint64_t sink_data = 0;          ///< free for the response sink that allocated the buffer
};
static_assert(sizeof(OutputTensor) == 80);

/// Parameter values, with the numbers of the Triton C ABI.
enum class ParameterType : uint32_t { kString = 0, kInt = 1, kBool = 2, kDouble = 3, kBytes = 4 };

/// A named value that goes with a request or a response, and means something to the model only. Which member
/// holds the value is said by `type`; the others are empty.
struct Parameter {
  std::string_view key;  ///< NUL-terminated
  ParameterType type = ParameterType::kString;
  uint32_t reserved = 0;
  std::string_view text;  ///< kString (NUL-terminated), kBytes
  union {
    int64_t int_value = 0;
    double double_value;
    bool bool_value;
  };
};
static_assert(sizeof(Parameter) == 48);

}  // namespace atl
