#include "common/gather.h"

#include <cstring>

namespace atl::backends {
namespace {

Status check_host_memory(const Buffer& buffer, std::string_view what) {
  if (is_host_memory(buffer.kind)) return {};
  return invalid_argument(what, " is in memory of GPU ", buffer.device_id,
                          ", this backend reads and writes CPU memory only");
}

void copy_in_order(std::span<const Buffer> from, std::byte* to) noexcept {
  for (const Buffer& buffer : from) {
    if (buffer.size_bytes == 0) continue;  // memcpy must not be given null, even for nothing
    std::memcpy(to, buffer.data, buffer.size_bytes);
    to += buffer.size_bytes;
  }
}

Result<uint64_t> host_bytes(std::span<const Buffer> buffers, std::string_view what) {
  uint64_t sum = 0;
  for (const Buffer& buffer : buffers) {
    ATOLL_RETURN_IF_ERROR(check_host_memory(buffer, what));
    if (__builtin_add_overflow(sum, buffer.size_bytes, &sum)) {
      return internal_error(what, ": the sizes of its buffers do not fit into 64 bits");
    }
  }
  return sum;
}

}  // namespace

Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to, std::string_view what) noexcept {
  Result<uint64_t> size = host_bytes(from, what);
  if (!size.ok()) return size;
  ATOLL_RETURN_IF_ERROR(check_host_memory(to, what));
  if (size.value() > to.size_bytes) {
    return internal_error(what, " has ", size.value(), " bytes, its destination only ", to.size_bytes);
  }
  copy_in_order(from, static_cast<std::byte*>(to.data));
  return size;
}

Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                              size_t alignment) noexcept {
  if (input.buffers.size() == 1 && is_host_memory(input.buffers[0].kind) &&
      reinterpret_cast<uintptr_t>(input.buffers[0].data) % alignment == 0) {
    const Buffer& only = input.buffers[0];
    return std::span(static_cast<const std::byte*>(only.data), only.size_bytes);
  }
  Result<uint64_t> size = host_bytes(input.buffers, input.name);
  if (!size.ok()) return std::move(size).status().note("input");
  auto* copy = static_cast<std::byte*>(arena.allocate(size.value(), alignment));
  copy_in_order(input.buffers, copy);
  return std::span<const std::byte>(copy, size.value());
}

}  // namespace atl::backends
