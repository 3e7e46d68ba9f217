/// Gives requests their parts of the outputs.
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
class OutputCopies {
 public:
  OutputCopies(const ModelPlan& plan, const DevicePart& part) noexcept : plan_(plan), part_(part) {}

  /// Gets memory for all that the requests of the group ask for, and for their states. A request without memory fails.
  /// Errors: INTERNAL an output has another shape than can be cut.
  Status allocate(const BatchGroup& group, const BatchExtents& extents, InFlight& batch) noexcept;
  /// Lets kernels write to where an output is to go, where that is possible. \param addresses  the inputs are final
  void place(const BatchGroup& group, const BatchExtents& extents, WorkAddresses& addresses) noexcept;
  /// Puts the copies of all others into the stream. Errors: those of Stream.
  Status deliver(const WorkLayout& layout, CudaAddress base, InFlight& batch, const Stream& stream) noexcept;

 private:
  struct Part {
    uint32_t request = 0;
    uint32_t slot = 0;
    uint64_t offset = 0;  ///< in the output
    Buffer to;
  };
  Status allocate_parts(const OutputPlan& output, const BatchGroup& group, const BatchExtents& extents,
                        InFlight& batch);
  Result<uint64_t> part_count(const OutputPlan& output, const Request& request, const BatchExtents& extents);
  void allocate_part(const OutputPlan& output, uint32_t index, uint64_t offset, uint64_t size_bytes,
                     InFlight& batch);
  Status deliver_to_host(const Part& part, uint64_t at, CudaAddress base, InFlight& batch,
                         const Stream& stream);
  Status flush(CudaAddress base, const Stream& stream);
  bool overlaps_inputs(const Buffer& to, const BatchExtents& extents, const WorkAddresses& addresses) const;
  bool is_staged(const Part& part) const;

  const ModelPlan& plan_;
  const DevicePart& part_;
  std::vector<Part> parts_;
  std::vector<int64_t> shape_;
  std::byte* staging_ = nullptr;  ///< as the outputs' part of the device's memory; null: there is none
  uint64_t staging_begin_ = 0;    ///< where that part begins
  uint64_t run_begin_ = 0;        ///< what is to be copied to it and is not yet
  uint64_t run_end_ = 0;
};

}  // namespace atl::cuda_backend
