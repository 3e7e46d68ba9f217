#include "backends/onnxruntime/gpu_graphs.h"

#include <string>
#include <utility>

namespace atl::ort {
namespace {

Result<Handle<OrtRunOptions>> options_of_graph(const std::string& number) {
  Handle<OrtRunOptions> options;
  ATOLL_RETURN_IF_ERROR(make(options, api().CreateRunOptions));
  ATOLL_RETURN_IF_ERROR(check(api().AddRunConfigEntry(options.get(), "gpu_graph_id", number.c_str())));
  return options;
}

}  // namespace

Result<std::unique_ptr<GpuGraphs>> GpuGraphs::make(GpuSource& source, int32_t device,
                                                   std::set<uint32_t> sizes, Log& log) noexcept {
  std::unique_ptr<GpuGraphs> made(new GpuGraphs(source, device, std::move(sizes), log));
  auto options = options_of_graph("-1");
  if (!options.ok()) return std::move(options).status();
  made->plain_options_ = std::move(options).value();
  return made;
}

Result<GpuGraph*> GpuGraphs::prepare(const std::vector<int64_t>& key, std::span<const GraphTensor> tensors,
                                     const OrtMemoryInfo* place) noexcept {
  auto found = graphs_.find(key);
  if (found == graphs_.end()) {
    if (graphs_.size() == kMost) return static_cast<GpuGraph*>(nullptr);
    found = graphs_.emplace(key, std::make_unique<GpuGraph>(source_.device_memory(), device_)).first;
  }
  if (found->second == nullptr) return static_cast<GpuGraph*>(nullptr);
  GpuGraph& graph = *found->second;
  uint64_t size_bytes = 0;
  for (const GraphTensor& tensor : tensors) {
    if (__builtin_add_overflow(size_bytes, Scratch::aligned(tensor.size_bytes), &size_bytes))
      return static_cast<GpuGraph*>(nullptr);
  }
  auto block = graph.block.reserve(size_bytes);
  if (!block.ok()) return std::move(block).status();
  if (*block != graph.at) {
    // What was recorded is of other addresses, and is never replayed again.
    graph.at = nullptr;
    auto options = options_of_graph(cat(++last_number_));
    if (!options.ok()) return std::move(options).status();
    graph.options = std::move(options).value();
    graph.places.clear();
    std::byte* next = *block;
    for (const GraphTensor& tensor : tensors) {
      graph.places.push_back({next, tensor.size_bytes, MemoryKind::kGpu, device_});
      next += Scratch::aligned(tensor.size_bytes);
    }
    ATOLL_RETURN_IF_ERROR(lay_out(graph, tensors, place));
    graph.at = *block;
  }
  return &graph;
}

Status GpuGraphs::lay_out(GpuGraph& graph, std::span<const GraphTensor> tensors,
                          const OrtMemoryInfo* place) noexcept {
  graph.values.clear();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const GraphTensor& tensor = tensors[i];
    ATOLL_RETURN_IF_ERROR(ort::make(graph.values.emplace_back(), api().CreateTensorWithDataAsOrtValue, place,
                                    graph.places[i].data, tensor.size_bytes, tensor.shape.data(),
                                    tensor.shape.size(), tensor.type));
  }
  return {};
}

void GpuGraphs::give_up(const std::vector<int64_t>& key, std::string_view model,
                        const Status& reason) noexcept {
  graphs_[key] = nullptr;
  log_.warning("unable to record CUDA graph for '", model, "', it is run without: ", reason.message());
}

void GpuGraphs::done() noexcept {
  for (auto& [key, graph] : graphs_) {
    if (graph != nullptr) graph->block.done();
  }
}

}  // namespace atl::ort
