/// Reads what a SavedModel says of itself, without TensorFlow: signatures and tags, and nothing of the graph.
///
/// The messages (SavedModel, MetaGraphDef, SignatureDef, TensorInfo, TensorShapeProto) are read field by field, because classes
/// generated from TensorFlow's .proto files would clash with those that TensorFlow itself registers in the process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "backends/tensorflow/graph/tf_signature.h"

namespace atl::tensorflow {

/// A graph of a SavedModel as its file describes it.
struct MetaGraph {
  std::vector<std::string> tags;
  std::vector<TfSignature> signatures;  ///< by name
};

/// Of saved_model.pb. Graphs are skipped, so that the memory needed does not depend on the size of what is in them.
/// Errors: INVALID_ARGUMENT it is none, or says more of itself than this backend reads; INTERNAL it cannot be read.
Result<std::vector<MetaGraph>> read_meta_graphs(const std::string& file) noexcept;

/// The same of its bytes.
Result<std::vector<MetaGraph>> parse_meta_graphs(std::string_view saved_model) noexcept;

/// The one with exactly this tag, or else the first that has it among others. \param tag  empty: "serve", or else any
/// Errors: INVALID_ARGUMENT names what there is.
Result<const MetaGraph*> choose_meta_graph(const std::vector<MetaGraph>& graphs, const std::string& tag);

/// \param name  empty: "serving_default", or else the first that is for inference
/// Errors: INVALID_ARGUMENT names what there is, or a tensor of a type that the protocol does not have.
Result<const TfSignature*> choose_signature(const MetaGraph& graph, const std::string& name);

}  // namespace atl::tensorflow
