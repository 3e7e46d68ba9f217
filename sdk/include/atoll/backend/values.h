/// Inputs as a backend mostly wants them: one piece of aligned memory that the CPU can read. A tensor may
/// arrive in several pieces, at any address, because the frontend leaves the bytes where the network put
/// them.
///
///     Result<std::span<const float>> x = backends::input_values<float>(request, "X");
///     if (!x.ok()) return std::move(x).status();
///     for (float value : *x) sum += value;
///
/// A backend that joins the inputs of a batch copies them one behind the other:
///
///     Buffer to{.data = joined, .size_bytes = joined_bytes};
///     for (uint32_t i = 0; i < responder.size(); ++i) {
///       const InputTensor& input = *responder.request(i).find_input("X");
///       Result<uint64_t> copied = backends::gather(input.buffers, to, "input 'X'");
///       if (!copied.ok()) return std::move(copied).status();
///       to.data = static_cast<std::byte*>(to.data) + *copied;
///       to.size_bytes -= *copied;
///     }
///
/// input_values() checks name, type and size, and copies only where the bytes are in pieces or badly aligned.
/// contiguous() is the same for a tensor of any type; gather() copies a tensor to memory of the caller. BYTES
/// tensors have atoll/backend/bytes.h.
///
/// Functions here keep nothing. Those that take a request or its arena are for the request's present holder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/memory/memory.h"
#include "atoll/request/arena.h"
#include "atoll/request/request.h"
#include "atoll/request/tensor.h"

namespace atl::backends {

/// Whether the CPU may read and write memory of this kind, once it is ready (Buffer::ready_after). Where a
/// plugin provides memory of GPUs, the catalog copies the inputs of all instances but those of KIND_GPU to
/// memory of the CPU before execute(), so most backends find nothing else.
constexpr bool is_host_memory(MemoryKind kind) noexcept { return kind != MemoryKind::kGpu; }

/// The element type that C++ holds as T: bool, float, double, or an integer of up to 8 bytes. FP16 and BF16
/// have no such type: read them as bytes, by contiguous(). A T that is none of these does not compile.
///
///     static_assert(backends::data_type_of<int32_t>() == DataType::kInt32);
///  The other direction is visit_number_type() in atoll/request/number_type.h.
template <class T>
constexpr DataType data_type_of() noexcept {
  // char, wchar_t and the like count by size and sign, as the integers that they are.
  constexpr bool kIsSigned = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, bool>)
    return DataType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DataType::kFp32;
  else if constexpr (std::is_same_v<T, double>)
    return DataType::kFp64;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no element type is held as this type");
    // By size and not by name: long and long long are different types of one size.
    if constexpr (sizeof(T) == 1) return kIsSigned ? DataType::kInt8 : DataType::kUint8;
    if constexpr (sizeof(T) == 2) return kIsSigned ? DataType::kInt16 : DataType::kUint16;
    if constexpr (sizeof(T) == 4) return kIsSigned ? DataType::kInt32 : DataType::kUint32;
    return kIsSigned ? DataType::kInt64 : DataType::kUint64;
  }
}

/// Copies the buffers in order to the beginning of `to`, waiting for each until it is ready.
/// \param what  the tensor, for the text of a failure: "input 'INPUT0'"
/// \returns the number of bytes written.
/// Errors, with nothing written: INVALID_ARGUMENT a buffer on either side is in memory of a GPU; INTERNAL
/// `to` is too small, or the sizes do not add up within 64 bits; those of DeviceEvent::wait(), with which the
/// bytes are lost.
inline Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to,
                               std::string_view what) noexcept;

/// The input's bytes as one piece. If the input has one buffer that is ready and aligned, the piece is that
/// buffer: nothing is copied, and it must not be written to.
/// \param arena  where a copy is made otherwise. It must live as long as the bytes are used; the request's
/// own arena lives until the request is released
/// \param alignment  of the first byte, a power of two
/// Errors: INVALID_ARGUMENT a buffer is in memory of a GPU ("input: X is in memory of GPU 0, this backend
/// reads and writes CPU memory only"); those of DeviceEvent::wait().
inline Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                                     size_t alignment) noexcept;

/// The elements of the request's input of this name, as many as the input's shape says; valid until the
/// request is released. They may be the client's bytes in place, so they must not be written to. For an input
/// with kShared (shared memory) two readings of one element may differ.
/// Errors: INVALID_ARGUMENT there is no such input, it is of another type, or its bytes are not those of its
/// shape; those of contiguous().
template <class T>
Result<std::span<const T>> input_values(Request& request, std::string_view name) noexcept;

// --- implementation ---

/// Nothing in here is for callers; it may change with any version.
namespace detail {

/// Waits until the CPU may use the buffer; refuses memory of GPUs.
/// \param what  the tensor, for the text of the refusal
inline Status check_host_memory(const Buffer& buffer, std::string_view what) {
  // The common case first: bytes that are there already.
  if (is_host_ready(buffer)) return {};
  // Memory of the CPU that a device may still write to.
  if (is_host_memory(buffer.kind)) return wait_until_ready(buffer);
  return invalid_argument(what, " is in memory of GPU ", buffer.device_id,
                          ", this backend reads and writes CPU memory only");
}

/// Copies buffers that are ready. `to` has room for all of them.
inline void copy_in_order(std::span<const Buffer> from, std::byte* to) noexcept {
  for (const Buffer& buffer : from) {
    // memcpy must not be given null, even for nothing.
    if (buffer.size_bytes == 0) continue;
    std::memcpy(to, buffer.data, buffer.size_bytes);
    to += buffer.size_bytes;
  }
}

/// The sum of the buffers' sizes. Each of them is checked before, and waited for until it is ready.
/// Errors: those of check_host_memory(); INTERNAL the sum does not fit into 64 bits.
inline Result<uint64_t> host_bytes(std::span<const Buffer> buffers, std::string_view what) {
  uint64_t sum = 0;
  for (const Buffer& buffer : buffers) {
    // All of them before the first byte is copied: a failure leaves the destination untouched.
    ATOLL_RETURN_IF_ERROR(check_host_memory(buffer, what));
    // No memory is as large; but a wrong sum would let a copy go behind the end of its destination.
    if (__builtin_add_overflow(sum, buffer.size_bytes, &sum)) {
      return internal_error(what, ": the sizes of its buffers do not fit into 64 bits");
    }
  }
  return sum;
}

}  // namespace detail

inline Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to,
                               std::string_view what) noexcept {
  // Most inputs are one piece: one comparison decides, and nothing is summed up.
  const bool is_simple =
      from.size() == 1 && is_host_ready(from[0]) && is_host_ready(to) && from[0].size_bytes <= to.size_bytes;
  if (is_simple) [[likely]] {
    detail::copy_in_order(from, static_cast<std::byte*>(to.data));
    return from[0].size_bytes;
  }
  Result<uint64_t> size = detail::host_bytes(from, what);
  if (!size.ok()) return size;
  ATOLL_RETURN_IF_ERROR(detail::check_host_memory(to, what));
  // The caller has sized the destination by the shape, so this is a mistake of the server's and not of the
  // client.
  if (size.value() > to.size_bytes) {
    return internal_error(what, " has ", size.value(), " bytes, its destination only ", to.size_bytes);
  }
  detail::copy_in_order(from, static_cast<std::byte*>(to.data));
  return size;
}

inline Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                                     size_t alignment) noexcept {
  // In place where that is possible, which it mostly is.
  if (input.buffers.size() == 1 && is_host_ready(input.buffers[0]) &&
      reinterpret_cast<uintptr_t>(input.buffers[0].data) % alignment == 0) {
    // No copy: the bytes stay where the frontend has received them, or in the client's shared memory.
    const Buffer& only = input.buffers[0];
    return std::span(static_cast<const std::byte*>(only.data), only.size_bytes);
  }
  Result<uint64_t> size = detail::host_bytes(input.buffers, input.name);
  // The note is put in front: "input: INPUT0 is in memory of GPU 0, ..."
  if (!size.ok()) return std::move(size).status().note("input");
  // The arena gives the memory back with the request.
  auto* copy = static_cast<std::byte*>(arena.allocate(size.value(), alignment));
  detail::copy_in_order(input.buffers, copy);
  return std::span<const std::byte>(copy, size.value());
}

template <class T>
Result<std::span<const T>> input_values(Request& request, std::string_view name) noexcept {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return invalid_argument("input '", name, "' is missing");
  // A configuration may say another type than the backend was written for.
  if (input->datatype != data_type_of<T>()) {
    return invalid_argument("input '", name, "' has type ", data_type_name(input->datatype), ", expected ",
                            data_type_name(data_type_of<T>()));
  }
  Result<std::span<const std::byte>> bytes = contiguous(*input, request.arena(), alignof(T));
  if (!bytes.ok()) return std::move(bytes).status();
  // Validation has compared size and shape, but not where elements have another layout
  // (is_non_linear_format_io), and not of inputs that the scheduler has added.
  const size_t count = bytes->size() / sizeof(T);
  if (bytes->size() % sizeof(T) != 0 || element_count(input->shape) != static_cast<int64_t>(count)) {
    return invalid_argument("input '", name, "' has ", bytes->size(), " bytes, which are not those of shape ",
                            shape_text(input->shape));
  }
  return std::span<const T>(reinterpret_cast<const T*>(bytes->data()), count);
}

}  // namespace atl::backends
