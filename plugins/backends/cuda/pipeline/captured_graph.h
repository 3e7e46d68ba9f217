/// CUDA graphs: all steps of one size of batch, launched by one call.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cuda/pipeline/launch.h"

namespace atl::cuda_backend {

/// The shapes that a graph is for. What was captured has fixed addresses and numbers.
struct GraphShapes {
  int64_t batch = 1;
  int64_t lowest = 1;                        ///< the smallest batch that may be rounded up to it
  std::vector<std::vector<int64_t>> inputs;  ///< as ModelPlan::inputs, with the batch dimension
};

/// The shapes of a specification. \returns nothing: they cannot be known before there are requests.
std::optional<GraphShapes> graph_shapes(const ModelPlan& plan, const GraphSpec& spec);

/// One captured graph that can be launched. Move-only; not being executed when it ends.
class CapturedGraph {
 public:
  CapturedGraph() noexcept = default;
  CapturedGraph(CapturedGraph&& other) noexcept { *this = std::move(other); }
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    std::swap(cuda_, other.cuda_);
    std::swap(device_, other.device_);
    std::swap(exec_, other.exec_);
    std::swap(shapes_, other.shapes_);
    return *this;
  }
  ~CapturedGraph();

  /// Captures what KernelLauncher::launch() does, which ran without a graph before. Nothing else uses the stream; nothing was
  /// executed when it returns. The calling thread alone is bound by the capture.
  /// Errors: as Cuda::report(); the stream can be used again.
  static Result<CapturedGraph> capture(const ModelPlan& plan, const DevicePart& part, const PipelineRun& run,
                                       const WorkAddresses& addresses, const Stream& stream,
                                       KernelLauncher& launcher, GraphShapes shapes) noexcept;

  const GraphShapes& shapes() const noexcept { return shapes_; }
  /// Errors: as Cuda::report().
  Status launch(const Stream& stream) const noexcept;

 private:
  Status instantiate(CudaGraph graph, const Stream& stream) noexcept;

  Cuda* cuda_ = nullptr;
  int32_t device_ = 0;
  CudaGraphExec exec_ = nullptr;
  GraphShapes shapes_;
};

}  // namespace atl::cuda_backend
