// Any bytes as saved_model.pb.
#include <cstdlib>
#include <string_view>

#include "backends/tensorflow/graph/meta_graphs.h"
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace atl::tensorflow;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto graphs = parse_meta_graphs(bytes); graphs.ok()) {
    if (graphs->empty()) std::abort();
    for (const char* tag : {"", "serve"}) {
      auto graph = choose_meta_graph(*graphs, tag);
      if (!graph.ok()) continue;
      auto signature = choose_signature(**graph, "");
      if (!signature.ok()) continue;
      for (const TfTensorInfo& tensor : (*signature)->inputs) {
        if (tensor.index < 0 || tensor.datatype() == atl::DataType::kInvalid) std::abort();
        if (tensor.unknown_rank && !tensor.dims.empty()) std::abort();
      }
    }
  }
  return 0;
}
