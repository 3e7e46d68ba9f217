#include "frontends/common/call/region_tensors.h"

namespace atl::frontends {
namespace {

Status acquire(const RegionPart& part, std::string_view tensor, RegionUses& regions,
               Buffer* buffer) noexcept {
  if (part.region.size() > kMaxRegionNameBytes) {
    return invalid_argument("the name of the shared memory region for tensor '", tensor, "' has ",
                            part.region.size(), " bytes, at most ", kMaxRegionNameBytes, " are allowed");
  }
  return regions.acquire(part.region, part.offset, part.byte_size, buffer);
}

void set_bytes(Arena& arena, const Buffer& buffer, InputTensor& input) noexcept {
  input.size_bytes = buffer.size_bytes;
  input.buffers = {};
  if (buffer.size_bytes != 0) input.buffers = {arena.make<Buffer>(buffer), 1};
}

/// Into CPU memory. Reads each byte of the buffer once.
Status set_copy(Arena& arena, OwnedBytes& owned, RegionUses& regions, const Buffer& from,
                InputTensor& input) noexcept {
  ATOLL_RETURN_IF_ERROR(regions.count_copy(input.name, from.size_bytes));
  Buffer copy;
  copy.size_bytes = from.size_bytes;
  copy.data = owned.allocate(arena, from.size_bytes);
  if (copy.data == nullptr) {
    return make_status(Code::kResourceExhausted, "no memory for the ", from.size_bytes, " bytes of input '",
                       input.name, "'");
  }
  ATOLL_RETURN_IF_ERROR(regions.copy(copy, from));
  set_bytes(arena, copy, input);
  input.flags &= ~uint32_t{InputTensor::kShared};
  return {};
}

bool overlap(const Buffer& a, const Buffer& b) noexcept {
  if (a.kind != b.kind || a.device_id != b.device_id) return false;
  auto a_begin = reinterpret_cast<uintptr_t>(a.data);
  auto b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a_begin < b_begin + b.size_bytes && b_begin < a_begin + a.size_bytes;
}

}  // namespace

Status use_region_input(const RegionPart& part, Arena& arena, OwnedBytes& owned, RegionUses& regions,
                        InputTensor& input) noexcept {
  Buffer buffer;
  ATOLL_RETURN_IF_ERROR(acquire(part, input.name, regions, &buffer));
  if (input.datatype == DataType::kBytes) return set_copy(arena, owned, regions, buffer, input);
  set_bytes(arena, buffer, input);
  input.flags |= InputTensor::kShared;
  return {};
}

Status use_region_output(const RegionPart& part, OwnedBytes& owned, RegionUses& regions, Request& request,
                         uint32_t index) noexcept {
  Buffer buffer;
  ATOLL_RETURN_IF_ERROR(acquire(part, request.outputs[index].name, regions, &buffer));
  for (InputTensor& input : request.inputs) {
    // An input that is in a region is one buffer; others are in memory of our own.
    if (input.buffers.size() != 1 || !overlap(input.buffers[0], buffer)) continue;
    ATOLL_RETURN_IF_ERROR(set_copy(request.arena(), owned, regions, input.buffers[0], input));
  }
  request.outputs[index].placement = buffer;
  return {};
}

bool is_placed(const RequestedOutput* wanted, const OutputTensor& output) noexcept {
  return wanted != nullptr && wanted->placement.data != nullptr &&
         output.buffer.data == wanted->placement.data;
}

}  // namespace atl::frontends
