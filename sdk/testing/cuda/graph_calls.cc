/// Captures and graphs.
#include <algorithm>

#include "driver.h"
#include "make_launch.h"

namespace atl::cuda_double {
namespace {

Graph make_graph(Driver& all, Capture& capture) {
  Graph graph;
  for (Work& work : capture.nodes) {
    const auto handle = all.new_handle<CudaGraphNode>();
    all.graph_nodes.emplace(handle, GraphNode{std::move(work)});
    graph.nodes.push_back(handle);
  }
  return graph;
}

/// One after another, as they were captured.
CudaResult run_all(const std::vector<Work>& nodes) {
  for (const Work& node : nodes) {
    if (const CudaResult result = node.execute(); result != CudaResult::SUCCESS) return result;
  }
  return CudaResult::SUCCESS;
}

GraphExec make_exec(const Driver& all, const Graph& graph) {
  GraphExec made;
  for (const CudaGraphNode node : graph.nodes) {
    made.places.emplace(node, made.nodes.size());
    made.nodes.push_back(all.graph_nodes.at(node).work);
  }
  return made;
}

}  // namespace

namespace api {

CudaResult cuStreamBeginCapture(CudaStream stream, CudaCaptureMode mode) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    const std::shared_ptr<Stream> found = call.find(stream);
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    if (found == call.context->legacy) return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
    if (found->capture != nullptr) return CudaResult::ILLEGAL_STATE;
    found->capture = std::make_shared<Capture>();
    found->capture->mode = mode;
    found->capture->origin = found->handle;
    found->capture->device = found->device;
    found->capture->thread = std::this_thread::get_id();
    driver().captures.push_back(found->capture);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuStreamEndCapture(CudaStream stream, CudaGraph* graph) {
  return enter(__func__, kCurrentContext | kGivesBack, [&](Call& call) {
    Driver& all = driver();
    *graph = nullptr;
    const std::shared_ptr<Stream> found = call.find(stream);
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    if (found->capture == nullptr) return CudaResult::ILLEGAL_STATE;
    const std::shared_ptr<Capture> capture = found->capture;
    if (capture->origin != found->handle) return CudaResult::STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CudaCaptureMode::kRelaxed && capture->thread != std::this_thread::get_id())
      return CudaResult::STREAM_CAPTURE_WRONG_THREAD;
    const bool is_joined = found->covered.size() == capture->nodes.size();
    all.end(capture);
    if (call.planned != CudaResult::SUCCESS) return call.planned;
    if (capture->is_invalid) return CudaResult::STREAM_CAPTURE_INVALIDATED;
    if (!is_joined) return CudaResult::STREAM_CAPTURE_UNJOINED;
    *graph = all.new_handle<CudaGraph>();
    all.graphs.emplace(*graph, make_graph(all, *capture));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuStreamIsCapturing(CudaStream stream, CudaCaptureState* state) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    const std::shared_ptr<Stream> found = call.find(stream);
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    *state = found->capture == nullptr    ? CudaCaptureState::kNone
             : found->capture->is_invalid ? CudaCaptureState::kInvalidated
                                          : CudaCaptureState::kActive;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphDestroy(CudaGraph graph) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    Driver& all = driver();
    const Graph* found = find_in(call, all.graphs, graph, "graph");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    for (const CudaGraphNode node : found->nodes) all.graph_nodes.erase(node);
    all.graphs.erase(graph);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphGetNodes(CudaGraph graph, CudaGraphNode* nodes, size_t* count) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const Graph* found = find_in(call, driver().graphs, graph, "graph");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (nodes != nullptr) {
      for (size_t i = 0; i < *count; ++i) nodes[i] = i < found->nodes.size() ? found->nodes[i] : nullptr;
      *count = std::min(*count, found->nodes.size());
    } else {
      *count = found->nodes.size();
    }
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphNodeGetType(CudaGraphNode node, CudaGraphNodeType* type) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const GraphNode* found = find_in(call, driver().graph_nodes, node, "node");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    *type = found->work.type;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphKernelNodeGetParams(CudaGraphNode node, CudaKernelNode* parameters) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const GraphNode* found = find_in(call, driver().graph_nodes, node, "node");
    if (found == nullptr || found->work.launch == nullptr) return CudaResult::INVALID_VALUE;
    const KernelLaunch& launch = *found->work.launch;
    *parameters = {};
    parameters->function = launch.function;
    std::copy_n(launch.grid, 3, parameters->grid);
    std::copy_n(launch.block, 3, parameters->block);
    parameters->shared_bytes = launch.shared_bytes;
    parameters->arguments = const_cast<void**>(launch.arguments.data());
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphInstantiateWithParams(CudaGraphExec* exec, CudaGraph graph,
                                        CudaGraphInstantiate* parameters) {
  return enter(__func__, kInitialised, [&](Call& call) {
    Driver& all = driver();
    const Graph* found = find_in(call, all.graphs, graph, "graph");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    *exec = all.new_handle<CudaGraphExec>();
    all.graph_execs.emplace(*exec, make_exec(all, *found));
    parameters->result = CudaGraphInstantiation::kSuccess;
    parameters->failed_node = nullptr;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphExecDestroy(CudaGraphExec exec) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    if (find_in(call, driver().graph_execs, exec, "executable graph") == nullptr)
      return CudaResult::INVALID_VALUE;
    driver().graph_execs.erase(exec);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphUpload(CudaGraphExec exec, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    if (find_in(call, driver().graph_execs, exec, "executable graph") == nullptr)
      return CudaResult::INVALID_VALUE;
    return call.submit(stream, {});
  });
}

CudaResult cuGraphLaunch(CudaGraphExec exec, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    GraphExec* found = find_in(call, driver().graph_execs, exec, "executable graph");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    std::vector<PointPtr> before;
    if (found->last != nullptr) before.push_back(found->last);
    const CudaResult result = call.submit(
        stream, {CudaGraphNodeType::kGraph, [nodes = found->nodes] { return run_all(nodes); }, {}},
        std::move(before));
    if (result != CudaResult::SUCCESS) return result;
    const std::shared_ptr<Stream> in = call.find(stream);
    if (in->capture == nullptr) found->last = in->last;
    return result;
  });
}

CudaResult cuGraphExecUpdate(CudaGraphExec exec, CudaGraph graph, CudaGraphUpdateInfo* info) {
  return enter(__func__, kInitialised, [&](Call& call) {
    Driver& all = driver();
    GraphExec* found = find_in(call, all.graph_execs, exec, "executable graph");
    const Graph* wanted = find_in(call, all.graphs, graph, "graph");
    if (found == nullptr || wanted == nullptr) return CudaResult::INVALID_VALUE;
    GraphExec made = make_exec(all, *wanted);
    const auto of_one_type = [](const Work& one, const Work& other) { return one.type == other.type; };
    if (found->nodes.size() != made.nodes.size()) {
      info->result = CudaGraphUpdate::kTopologyChanged;
      return CudaResult::GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (!std::equal(made.nodes.begin(), made.nodes.end(), found->nodes.begin(), of_one_type)) {
      info->result = CudaGraphUpdate::kNodeTypeChanged;
      return CudaResult::GRAPH_EXEC_UPDATE_FAILURE;
    }
    // Nodes of the graph that the executable one was made of stand for the same places as before.
    found->nodes = std::move(made.nodes);
    info->result = CudaGraphUpdate::kSuccess;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuGraphExecKernelNodeSetParams(CudaGraphExec exec, CudaGraphNode node,
                                          const CudaKernelNode* parameters) {
  return enter(__func__, kInitialised, [&](Call& call) {
    GraphExec* found = find_in(call, driver().graph_execs, exec, "executable graph");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    const auto place = found->places.find(node);
    if (place == found->places.end() || found->nodes[place->second].launch == nullptr)
      return CudaResult::INVALID_VALUE;
    std::shared_ptr<KernelLaunch> made;
    const CudaResult result = make_launch(call, *parameters, made);
    if (result == CudaResult::SUCCESS) found->nodes[place->second].launch = std::move(made);
    return result;
  });
}

}  // namespace api
}  // namespace atl::cuda_double
