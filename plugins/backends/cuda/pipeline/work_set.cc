#include "backends/cuda/pipeline/work_set.h"

#include <algorithm>

namespace atl::cuda_backend {
namespace {

/// Whether the shapes are those of the graph, but for the batch dimension.
bool matches(const GraphShapes& graph, std::span<const std::span<const int64_t>> shapes, bool batches) {
  const size_t from = batches ? 1 : 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::span<const int64_t> has = graph.inputs[i];
    if (shapes[i].size() != has.size()) return false;
    if (!has.empty() && !std::ranges::equal(shapes[i].subspan(from), has.subspan(from))) return false;
  }
  return true;
}

}  // namespace

Status Lanes::synchronize() const noexcept {
  Status first;
  for (const Stream* stream : {&main, &input, &output}) {
    if (!*stream) continue;
    Status status = stream->synchronize();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status WorkSet::reserve(uint64_t size_bytes, const Lanes& lanes) noexcept {
  if (block_ && size_bytes <= block_.size_bytes()) return {};
  if (block_) {
    ATOLL_RETURN_IF_ERROR(lanes.synchronize());
    graphs_.clear();
    block_.reset();  // first, or there would have to be room for both
  }
  Result<MemoryBlock> block = part_.allocate(size_bytes);
  if (!block.ok()) return std::move(block).status();
  block_ = std::move(block).value();
  return {};
}

const CapturedGraph* WorkSet::find_graph(std::span<const std::span<const int64_t>> shapes, int64_t batch,
                                         bool batches, bool pads) const noexcept {
  const CapturedGraph* covering = nullptr;
  for (const CapturedGraph& graph : graphs_) {
    const GraphShapes& has = graph.shapes();
    if (!matches(has, shapes, batches)) continue;
    if (has.batch == batch) return &graph;
    if (pads && covering == nullptr && has.lowest <= batch && batch < has.batch) covering = &graph;
  }
  return covering;
}

}  // namespace atl::cuda_backend
