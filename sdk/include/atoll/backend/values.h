/// Inputs as a backend wants them: one piece of aligned memory. A tensor may arrive in several pieces, at any
/// address.
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

/// Whether the CPU may read and write it in place, once it is ready (DeviceEvent). Inputs of instances that
/// are not of KIND_GPU are, where a plugin provides memory of GPUs: they are copied before execute().
constexpr bool is_host_memory(MemoryKind kind) noexcept { return kind != MemoryKind::kGpu; }

/// The element type that C++ holds as T. FP16 and BF16 have no such type.
template <class T>
constexpr DataType data_type_of() noexcept {
  constexpr bool kIsSigned = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, bool>)
    return DataType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DataType::kFp32;
  else if constexpr (std::is_same_v<T, double>)
    return DataType::kFp64;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no element type is held as this type");
    if constexpr (sizeof(T) == 1) return kIsSigned ? DataType::kInt8 : DataType::kUint8;
    if constexpr (sizeof(T) == 2) return kIsSigned ? DataType::kInt16 : DataType::kUint16;
    if constexpr (sizeof(T) == 4) return kIsSigned ? DataType::kInt32 : DataType::kUint32;
    return kIsSigned ? DataType::kInt64 : DataType::kUint64;
  }
}

/// Copies the buffers in order to the beginning of `to`, once they are ready.
/// \param what  the tensor, for the message: "input 'INPUT0'".
/// \returns the number of bytes written.
/// Errors: INVALID_ARGUMENT a buffer of GPU memory on either side; INTERNAL `to` is too small. Nothing is
/// written then.
inline Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to,
                               std::string_view what) noexcept;

/// The input's bytes as one piece that is aligned to `alignment`: its own buffer if that will do, else a copy
/// in the arena (which must live as long as the bytes are used; the request's own lives until its release).
/// Errors: INVALID_ARGUMENT a buffer of GPU memory.
inline Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                                     size_t alignment) noexcept;

/// The elements of the request's input of this name; valid until the request is released. They are as many as
/// the input's shape says.
/// Errors: INVALID_ARGUMENT there is no such input, it is of another type, or its bytes are not those of its
/// shape; GPU memory.
template <class T>
Result<std::span<const T>> input_values(Request& request, std::string_view name) noexcept;

// --- implementation ---

namespace detail {

inline Status check_host_memory(const Buffer& buffer, std::string_view what) {
  if (is_host_ready(buffer)) return {};
  if (is_host_memory(buffer.kind)) return wait_until_ready(buffer);
  return invalid_argument(what, " is in memory of GPU ", buffer.device_id,
                          ", this backend reads and writes CPU memory only");
}

inline void copy_in_order(std::span<const Buffer> from, std::byte* to) noexcept {
  for (const Buffer& buffer : from) {
    if (buffer.size_bytes == 0) continue;  // memcpy must not be given null, even for nothing
    std::memcpy(to, buffer.data, buffer.size_bytes);
    to += buffer.size_bytes;
  }
}

inline Result<uint64_t> host_bytes(std::span<const Buffer> buffers, std::string_view what) {
  uint64_t sum = 0;
  for (const Buffer& buffer : buffers) {
    ATOLL_RETURN_IF_ERROR(check_host_memory(buffer, what));
    if (__builtin_add_overflow(sum, buffer.size_bytes, &sum)) {
      return internal_error(what, ": the sizes of its buffers do not fit into 64 bits");
    }
  }
  return sum;
}

}  // namespace detail

inline Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to,
                               std::string_view what) noexcept {
  const bool is_simple =
      from.size() == 1 && is_host_ready(from[0]) && is_host_ready(to) && from[0].size_bytes <= to.size_bytes;
  if (is_simple) [[likely]] {
    detail::copy_in_order(from, static_cast<std::byte*>(to.data));
    return from[0].size_bytes;
  }
  Result<uint64_t> size = detail::host_bytes(from, what);
  if (!size.ok()) return size;
  ATOLL_RETURN_IF_ERROR(detail::check_host_memory(to, what));
  if (size.value() > to.size_bytes) {
    return internal_error(what, " has ", size.value(), " bytes, its destination only ", to.size_bytes);
  }
  detail::copy_in_order(from, static_cast<std::byte*>(to.data));
  return size;
}

inline Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                                     size_t alignment) noexcept {
  if (input.buffers.size() == 1 && is_host_ready(input.buffers[0]) &&
      reinterpret_cast<uintptr_t>(input.buffers[0].data) % alignment == 0) {
    const Buffer& only = input.buffers[0];
    return std::span(static_cast<const std::byte*>(only.data), only.size_bytes);
  }
  Result<uint64_t> size = detail::host_bytes(input.buffers, input.name);
  if (!size.ok()) return std::move(size).status().note("input");
  auto* copy = static_cast<std::byte*>(arena.allocate(size.value(), alignment));
  detail::copy_in_order(input.buffers, copy);
  return std::span<const std::byte>(copy, size.value());
}

template <class T>
Result<std::span<const T>> input_values(Request& request, std::string_view name) noexcept {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return invalid_argument("input '", name, "' is missing");
  if (input->datatype != data_type_of<T>()) {
    return invalid_argument("input '", name, "' has type ", data_type_name(input->datatype), ", expected ",
                            data_type_name(data_type_of<T>()));
  }
  Result<std::span<const std::byte>> bytes = contiguous(*input, request.arena(), alignof(T));
  if (!bytes.ok()) return std::move(bytes).status();
  const size_t count = bytes->size() / sizeof(T);
  if (bytes->size() % sizeof(T) != 0 || element_count(input->shape) != static_cast<int64_t>(count)) {
    return invalid_argument("input '", name, "' has ", bytes->size(), " bytes, which are not those of shape ",
                            shape_text(input->shape));
  }
  return std::span<const T>(reinterpret_cast<const T*>(bytes->data()), count);
}

}  // namespace atl::backends
