#include "backends/cuda/pipeline/captured_graph.h"

namespace atl::cuda_backend {

std::optional<GraphShapes> graph_shapes(const ModelPlan& plan, const GraphSpec& spec) {
  GraphShapes shapes{.batch = spec.batch, .lowest = spec.lowest, .inputs = {}};
  for (const InputPlan& input : plan.inputs) {
    if (input.ragged || input.batch_input >= 0) return std::nullopt;
    std::vector<int64_t> shape = plan.pipeline.table.tensors[input.slot].dims;
    const auto said = spec.shapes.find(input.name);
    if (said != spec.shapes.end()) {
      shape = said->second;
      if (plan.batches()) shape.insert(shape.begin(), spec.batch);
    } else if (plan.batches()) {
      shape[0] = spec.batch;
    }
    for (const int64_t dim : shape) {
      if (dim < 0) return std::nullopt;
    }
    shapes.inputs.push_back(std::move(shape));
  }
  return shapes;
}

CapturedGraph::~CapturedGraph() {
  if (exec_ == nullptr || cuda_ == nullptr) return;
  if (make_current(*cuda_, device_)) (void)cuda_->call<&CudaDriver::cuGraphExecDestroy>(device_, exec_).ok();
}

Result<CapturedGraph> CapturedGraph::capture(const ModelPlan& plan, const DevicePart& part,
                                             const PipelineRun& run, const WorkAddresses& addresses,
                                             const Stream& stream, KernelLauncher& launcher,
                                             GraphShapes shapes) noexcept {
  Cuda& cuda = part.cuda();
  CapturedGraph made;
  made.cuda_ = &cuda;
  made.device_ = part.device();
  made.shapes_ = std::move(shapes);
  ATOLL_RETURN_IF_ERROR(cuda.call<&CudaDriver::cuStreamBeginCapture>(made.device_, stream.handle(),
                                                                     CudaCaptureMode::kThreadLocal));
  Status status = launcher.launch(plan, part, run, addresses, stream);
  CudaGraph graph = nullptr;
  // Whatever happened, or the stream stays in its capture.
  Status ended = cuda.call<&CudaDriver::cuStreamEndCapture>(made.device_, stream.handle(), &graph);
  if (status.ok()) status = std::move(ended);
  if (status.ok()) status = made.instantiate(graph, stream);
  if (graph != nullptr) {
    Status destroyed = cuda.call<&CudaDriver::cuGraphDestroy>(made.device_, graph);
    if (status.ok()) status = std::move(destroyed);
  }
  if (!status.ok()) return status;
  return made;
}

Status CapturedGraph::instantiate(CudaGraph graph, const Stream& stream) noexcept {
  CudaGraphInstantiate parameters;
  ATOLL_RETURN_IF_ERROR(
      cuda_->call<&CudaDriver::cuGraphInstantiateWithParams>(device_, &exec_, graph, &parameters));
  return cuda_->call<&CudaDriver::cuGraphUpload>(device_, exec_, stream.handle());
}

Status CapturedGraph::launch(const Stream& stream) const noexcept {
  return cuda_->call<&CudaDriver::cuGraphLaunch>(device_, exec_, stream.handle());
}

}  // namespace atl::cuda_backend
