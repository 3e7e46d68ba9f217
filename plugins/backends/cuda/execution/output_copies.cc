#include "backends/cuda/execution/output_copies.h"

#include <algorithm>
#include <string>

namespace atl::cuda_backend {
namespace {

/// Members of an ensemble hand each other memory of the device; what the client does not want there, the ensemble's
/// or the frontend's sink gives elsewhere.
MemoryKind preferred_kind(const Request& request, const RequestedOutput& wanted) {
  const bool is_for_device = wanted.placement.kind == MemoryKind::kGpu || (request.call_flags & kIsStep) != 0;
  return is_for_device ? MemoryKind::kGpu : MemoryKind::kCpu;
}

}  // namespace

Status OutputCopies::allocate(const BatchGroup& group, const BatchExtents& extents,
                              InFlight& batch) noexcept {
  parts_.clear();
  for (const OutputPlan& output : plan_.outputs)
    ATOLL_RETURN_IF_ERROR(allocate_parts(output, group, extents, batch));
  return {};
}

Status OutputCopies::allocate_parts(const OutputPlan& output, const BatchGroup& group,
                                    const BatchExtents& extents, InFlight& batch) {
  const std::span<const int64_t> whole = extents.shape(output.slot);
  if (!output.scatter && plan_.batches() && (whole.empty() || whole[0] != extents.batch())) {
    return internal_error("output '", output.name, "': found shape ", shape_text(whole),
                          ", expected the batch size ", extents.batch(), " as first dimension");
  }
  const uint64_t element_bytes = data_type_size_bytes(output.datatype);
  uint64_t count = 0;
  for (const uint32_t index : group.indices) {
    Result<uint64_t> part = part_count(output, batch.responder.request(index), extents);
    if (!part.ok()) return std::move(part).status();
    // Before anything is given: a part that is not in the output must not be read.
    if (*part > static_cast<uint64_t>(extents.count(output.slot)) - count) {
      return internal_error("output '", output.name, "': found ", extents.count(output.slot),
                            " elements of the batch, expected more, as its requests' shapes say");
    }
    allocate_part(output, index, count * element_bytes, *part * element_bytes, batch);
    count += *part;
  }
  return {};
}

/// Elements of the request's part; its shape is in shape_.
Result<uint64_t> OutputCopies::part_count(const OutputPlan& output, const Request& request,
                                          const BatchExtents& extents) {
  if (output.scatter) return backends::batch_output_shape(*output.scatter, request, shape_);
  const std::span<const int64_t> whole = extents.shape(output.slot);
  shape_.assign(whole.begin(), whole.end());
  const auto count = static_cast<uint64_t>(extents.count(output.slot));
  if (!plan_.batches()) return count;
  shape_[0] = request.batch_weight();
  return count / static_cast<uint64_t>(extents.batch()) * request.batch_weight();
}

void OutputCopies::allocate_part(const OutputPlan& output, uint32_t index, uint64_t offset,
                                 uint64_t size_bytes, InFlight& batch) {
  backends::BatchResponder& responder = batch.responder;
  Request& request = responder.request(index);
  const RequestedOutput* wanted = request.find_output(output.name);
  if (wanted != nullptr && !responder.failed(index)) {
    const OutputTensor* made = responder.add_output(index, *wanted, output.datatype, shape_, size_bytes,
                                                    preferred_kind(request, *wanted), part_.device());
    if (made != nullptr && size_bytes != 0) {
      parts_.push_back({index, output.slot, offset, made->buffer});
      batch.add_output(index, made->buffer);
    }
  }
  if (!output.is_state || request.state == nullptr || responder.failed(index)) return;
  Buffer state;
  Status status = request.state->output(output.name, output.datatype, shape_, size_bytes, MemoryKind::kGpu,
                                        part_.device(), &state);
  if (!status.ok()) {
    responder.fail(index, std::move(status));
    return;
  }
  state.size_bytes = size_bytes;
  if (size_bytes != 0) parts_.push_back({index, output.slot, offset, state});
  batch.add_commit(index, output.name);
}

bool OutputCopies::overlaps_inputs(const Buffer& to, const BatchExtents& extents,
                                   const WorkAddresses& addresses) const {
  const CudaAddress begin = to_address(to.data), end = begin + to.size_bytes;
  return std::ranges::any_of(plan_.inputs, [&](const InputPlan& input) {
    const CudaAddress at = addresses.tensors[input.slot];
    return at < end && begin < at + static_cast<uint64_t>(extents.bytes(input.slot));
  });
}

void OutputCopies::place(const BatchGroup& group, const BatchExtents& extents,
                         WorkAddresses& addresses) noexcept {
  if (group.members.size() != 1) return;
  for (const OutputPlan& output : plan_.outputs) {
    const auto of_output = [&](const Part& part) { return part.slot == output.slot; };
    if (std::ranges::count_if(parts_, of_output) != 1) continue;
    const auto only = std::ranges::find_if(parts_, of_output);
    const bool is_usable = is_on_device(only->to, part_.device()) && is_aligned(only->to) &&
                           only->to.size_bytes == static_cast<uint64_t>(extents.bytes(output.slot)) &&
                           !overlaps_inputs(only->to, extents, addresses);
    if (!is_usable) continue;
    addresses.tensors[output.slot] = to_address(only->to.data);
    parts_.erase(only);
  }
}

bool OutputCopies::is_staged(const Part& part) const {
  return part.to.kind == MemoryKind::kCpu ||
         (part.to.kind == MemoryKind::kCpuPinned && part.to.size_bytes < kDirectBytes);
}

Status OutputCopies::deliver(const WorkLayout& layout, CudaAddress base, InFlight& batch,
                             const Stream& stream) noexcept {
  run_begin_ = run_end_ = 0;
  staging_ = nullptr;
  staging_begin_ = layout.inputs_bytes;
  const bool stages = std::ranges::any_of(parts_, [this](const Part& part) { return is_staged(part); });
  if (stages && plan_.settings.pinned_outputs) {
    staging_ =
        batch.stage(*part_.context().pinned_memory, layout.outputs_end - layout.inputs_bytes, part_.device());
  }
  for (const Part& part : parts_) {
    const uint64_t at = layout.tensors[part.slot] + part.offset;
    if (batch.responder.failed(part.request)) continue;
    if (staging_ != nullptr && is_staged(part)) {
      ATOLL_RETURN_IF_ERROR(deliver_to_host(part, at, base, batch, stream));
    } else {
      ATOLL_RETURN_IF_ERROR(
          stream.copy(part.to, device_buffer(base + at, part.to.size_bytes, part_.device())));
    }
  }
  return flush(base, stream);
}

Status OutputCopies::deliver_to_host(const Part& part, uint64_t at, CudaAddress base, InFlight& batch,
                                     const Stream& stream) {
  const bool follows = run_end_ != run_begin_ && at >= run_end_ && at - run_end_ < kGapBytes;
  if (!follows) {
    ATOLL_RETURN_IF_ERROR(flush(base, stream));
    run_begin_ = at;
  }
  run_end_ = at + part.to.size_bytes;
  batch.add_host_copy(part.request, staging_ + (at - staging_begin_), part.to.data, part.to.size_bytes);
  return {};
}

Status OutputCopies::flush(CudaAddress base, const Stream& stream) {
  const uint64_t begin = run_begin_, size_bytes = run_end_ - run_begin_;
  run_begin_ = run_end_;
  if (size_bytes == 0) return {};
  return stream.copy(host_buffer(staging_ + (begin - staging_begin_), size_bytes),
                     device_buffer(base + begin, size_bytes, part_.device()));
}

}  // namespace atl::cuda_backend
