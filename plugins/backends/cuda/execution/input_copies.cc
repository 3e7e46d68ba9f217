#include "backends/cuda/execution/input_copies.h"

#include <algorithm>
#include <cstring>

namespace atl::cuda_backend {

Status InputCopies::gather(const BatchGroup& group, const BatchExtents& extents, const WorkLayout& layout,
                           bool in_place, WorkAddresses& addresses, InFlight& batch,
                           const Stream& stream) noexcept {
  base_ = addresses.base;
  run_begin_ = run_end_ = 0;
  staging_ = nullptr;
  if (plan_.settings.pinned_inputs && has_host_bytes(group, extents)) {
    staging_ = batch.stage(*part_.context().pinned_memory, layout.inputs_bytes, part_.device());
  }
  ATOLL_RETURN_IF_ERROR(wait_for_sources(group, extents, batch, stream));
  for (const InputPlan& input : plan_.inputs) {
    const auto size_bytes = static_cast<uint64_t>(extents.bytes(input.slot));
    if (size_bytes == 0) continue;
    const uint64_t offset = layout.tensors[input.slot];
    if (input.batch_input >= 0) {
      ATOLL_RETURN_IF_ERROR(make_batch_input(input, group, offset, size_bytes, stream));
      continue;
    }
    const Buffer* whole = in_place ? usable_in_place(input, group) : nullptr;
    if (whole == nullptr) {
      ATOLL_RETURN_IF_ERROR(gather_input(input, group, offset, stream));
      continue;
    }
    addresses.tensors[input.slot] = to_address(whole->data);
  }
  return flush(stream);
}

/// All of them, before anything is put behind that: what the device waits for is no time of the batch's.
Status InputCopies::wait_for_sources(const BatchGroup& group, const BatchExtents& extents, InFlight& batch,
                                     const Stream& stream) {
  bool waits = false;
  for (const InputPlan& input : plan_.inputs) {
    if (input.batch_input >= 0 || extents.bytes(input.slot) == 0) continue;
    for (size_t i = 0; i < group.members.size(); ++i) {
      for (const Buffer& buffer : group.members[i]->find_input(input.name)->buffers) {
        if (buffer.size_bytes == 0 || buffer.ready_after == nullptr) continue;
        // Of host memory the CPU itself may have to read the bytes.
        const bool is_here = buffer.kind == MemoryKind::kGpu;
        ATOLL_RETURN_IF_ERROR(is_here ? stream.wait_until_ready(buffer) : wait_until_ready(buffer));
        batch.add_source(group.indices[i], buffer);
        waits = waits || is_here;
      }
    }
  }
  batch.has_begun = waits;
  return waits ? stream.record(batch.begun) : Status();
}

bool InputCopies::has_host_bytes(const BatchGroup& group, const BatchExtents& extents) const {
  const auto is_host = [](const Buffer& buffer) {
    return buffer.kind != MemoryKind::kGpu && buffer.size_bytes != 0;
  };
  return std::ranges::any_of(plan_.inputs, [&](const InputPlan& input) {
    if (extents.bytes(input.slot) == 0) return false;
    if (input.batch_input >= 0) return true;
    return std::ranges::any_of(group.members, [&](const Request* member) {
      return std::ranges::any_of(member->find_input(input.name)->buffers, is_host);
    });
  });
}

const Buffer* InputCopies::usable_in_place(const InputPlan& input, const BatchGroup& group) const {
  if (group.members.size() != 1) return nullptr;
  const auto buffers = group.members[0]->find_input(input.name)->buffers;
  const bool is_usable =
      buffers.size() == 1 && is_on_device(buffers[0], part_.device()) && is_aligned(buffers[0]);
  return is_usable ? &buffers[0] : nullptr;
}

Status InputCopies::gather_input(const InputPlan& input, const BatchGroup& group, uint64_t offset,
                                 const Stream& stream) {
  for (const Request* member : group.members) {
    for (const Buffer& buffer : member->find_input(input.name)->buffers) {
      if (buffer.size_bytes == 0) continue;
      ATOLL_RETURN_IF_ERROR(put(offset, buffer, stream));
      offset += buffer.size_bytes;
    }
  }
  return {};
}

Status InputCopies::make_batch_input(const InputPlan& input, const BatchGroup& group, uint64_t offset,
                                     uint64_t size_bytes, const Stream& stream) {
  const backends::BatchInput& from = plan_.batch_inputs[static_cast<size_t>(input.batch_input)];
  if (staging_ != nullptr) {
    Status status;
    std::byte* to = reserve(offset, size_bytes, stream, status);
    backends::write_batch_input(from, group.members, {to, size_bytes});
    return status;
  }
  made_.resize(size_bytes);
  backends::write_batch_input(from, group.members, made_);
  return put(offset, host_buffer(made_.data(), size_bytes), stream);
}

Status InputCopies::put(uint64_t offset, const Buffer& from, const Stream& stream) {
  const bool is_direct = from.kind == MemoryKind::kCpuPinned && from.size_bytes >= kDirectBytes;
  if (staging_ != nullptr && from.kind != MemoryKind::kGpu && !is_direct) {
    Status status;
    std::memcpy(reserve(offset, from.size_bytes, stream, status), from.data, from.size_bytes);
    return status;
  }
  ATOLL_RETURN_IF_ERROR(flush(stream));
  return stream.copy(device_buffer(base_ + offset, from.size_bytes, part_.device()), from);
}

/// Where staged bytes go; what was staged before goes on its way if these do not follow it.
std::byte* InputCopies::reserve(uint64_t offset, uint64_t size_bytes, const Stream& stream, Status& status) {
  if (run_end_ == run_begin_ || offset - run_end_ >= kGapBytes) {
    status = flush(stream);
    run_begin_ = offset;
  }
  run_end_ = offset + size_bytes;
  return staging_ + offset;
}

Status InputCopies::flush(const Stream& stream) {
  const uint64_t begin = run_begin_, size_bytes = run_end_ - run_begin_;
  run_begin_ = run_end_;
  if (size_bytes == 0) return {};
  return stream.copy(device_buffer(base_ + begin, size_bytes, part_.device()),
                     host_buffer(staging_ + begin, size_bytes));
}

}  // namespace atl::cuda_backend
