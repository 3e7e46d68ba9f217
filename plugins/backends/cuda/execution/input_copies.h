/// Brings the inputs of a group to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/code/device_part.h"
#include "backends/cuda/execution/batch_group.h"
#include "backends/cuda/execution/in_flight.h"
#include "backends/cuda/pipeline/stream.h"
#include "backends/cuda/pipeline/work_layout.h"

namespace atl::cuda_backend {

/// One instance's; keeps its memory. One thread at a time.
///
/// Host memory is packed into a pinned copy of the part of the device's memory that has the inputs, so that neighbours
/// travel in one transfer, whatever tensor and request they are of. Large pieces that are pinned already go by
/// themselves. Without pinned memory the driver copies piece by piece.
class InputCopies {
 public:
  InputCopies(const ModelPlan& plan, const DevicePart& part) noexcept : plan_(plan), part_(part) {}

  /// Puts copies into the stream. \param addresses  of the inputs; one that is used where it is gets that address
  /// \param in_place  whether inputs may be used where they are, by what waits for the stream
  /// Errors: those of Stream; of DeviceEvent::wait().
  Status gather(const BatchGroup& group, const BatchExtents& extents, const WorkLayout& layout, bool in_place,
                WorkAddresses& addresses, InFlight& batch, const Stream& stream) noexcept;

 private:
  Status wait_for_sources(const BatchGroup& group, const BatchExtents& extents, InFlight& batch,
                          const Stream& stream);
  Status gather_input(const InputPlan& input, const BatchGroup& group, uint64_t offset, const Stream& stream);
  Status make_batch_input(const InputPlan& input, const BatchGroup& group, uint64_t offset,
                          uint64_t size_bytes, const Stream& stream);
  Status put(uint64_t offset, const Buffer& from, const Stream& stream);
  std::byte* reserve(uint64_t offset, uint64_t size_bytes, const Stream& stream, Status& status);
  Status flush(const Stream& stream);
  bool has_host_bytes(const BatchGroup& group, const BatchExtents& extents) const;
  const Buffer* usable_in_place(const InputPlan& input, const BatchGroup& group) const;

  const ModelPlan& plan_;
  const DevicePart& part_;
  CudaAddress base_ = 0;
  std::byte* staging_ = nullptr;  ///< as the inputs' part of the device's memory; null: there is none
  uint64_t run_begin_ = 0;        ///< what is staged and not copied yet
  uint64_t run_end_ = 0;
  std::vector<std::byte> made_;
};

}  // namespace atl::cuda_backend
