#include "backends/tensorflow/graph/meta_graphs.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>

#include <cerrno>
#include <exception>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "backends/tensorflow/graph/proto_fields.h"

namespace atl::tensorflow {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// More than any model has, so that no file takes more memory than some megabytes.
constexpr size_t kGraphsMax = 100;
constexpr size_t kTagsMax = 100;
constexpr size_t kSignaturesMax = 1'000;
constexpr size_t kTensorsMax = 20'000;  // of one graph
constexpr size_t kRankMax = 254;        // TensorFlow's own
constexpr int kPartBytesMax = 64 << 20;

Status not_readable(std::string_view what) {
  return invalid_argument("found ", what, ", expected a SavedModel");
}
Status no_message() { return not_readable("bytes that are no message"); }
Status too_many(std::string_view what, size_t most) {
  return invalid_argument("found more than ", most, " ", what, ", which is more than this backend reads");
}

Status read_shape(std::string_view message, TfTensorInfo& tensor) {
  tensor.unknown_rank = false;
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.is_varint(3)) tensor.unknown_rank = fields.value() != 0;
    if (!fields.is_bytes(2)) continue;
    if (tensor.dims.size() == kRankMax) return too_many("dimensions of a tensor", kRankMax);
    int64_t size = 0;
    ProtoFields dimension(fields.bytes());
    while (dimension.next()) {
      if (dimension.is_varint(1)) size = static_cast<int64_t>(dimension.value());
    }
    if (!dimension.ok()) return no_message();
    tensor.dims.push_back(size < 0 ? -1 : size);
  }
  if (tensor.unknown_rank) tensor.dims.clear();
  return fields.ok() ? Status() : no_message();
}

Status read_tensor(std::string_view message, TfTensorInfo& tensor) {
  tensor.unknown_rank = true;  // unless there is a shape
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.is_bytes(1)) split_tensor_name(fields.bytes(), tensor);
    if (fields.is_varint(2)) tensor.type = static_cast<TfType>(fields.value());
    if (fields.is_bytes(3)) ATOLL_RETURN_IF_ERROR(read_shape(fields.bytes(), tensor));
  }
  return fields.ok() ? Status() : no_message();
}

/// An entry of a map: its key is a text, its value a message.
Status read_entry(std::string_view message, std::string& key, std::string_view& value) {
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.is_bytes(1)) key = fields.bytes();
    if (fields.is_bytes(2)) value = fields.bytes();
  }
  return fields.ok() ? Status() : no_message();
}

/// \param left  how many tensors may still come
Status read_signature(std::string_view message, TfSignature& signature, size_t& left) {
  ProtoFields fields(message);
  while (fields.next()) {
    if (!fields.is_bytes(1) && !fields.is_bytes(2)) continue;
    if (left-- == 0) return too_many("tensors", kTensorsMax);
    TfTensorInfo& tensor = (fields.number() == 1 ? signature.inputs : signature.outputs).emplace_back();
    std::string_view value;
    ATOLL_RETURN_IF_ERROR(read_entry(fields.bytes(), tensor.name, value));
    ATOLL_RETURN_IF_ERROR(read_tensor(value, tensor));
  }
  // A map has no order of its own.
  std::ranges::stable_sort(signature.inputs, {}, &TfTensorInfo::name);
  std::ranges::stable_sort(signature.outputs, {}, &TfTensorInfo::name);
  return fields.ok() ? Status() : no_message();
}

/// Reads what is no field of the graph itself, part by part.
class MetaGraphReader {
 public:
  /// Errors: those of one part.
  Status add(int field, std::string_view part) {
    if (field == kInfo) return add_tags(part);
    if (graph_.signatures.size() == kSignaturesMax) return too_many("signatures", kSignaturesMax);
    TfSignature& signature = graph_.signatures.emplace_back();
    std::string_view value;
    ATOLL_RETURN_IF_ERROR(read_entry(part, signature.name, value));
    return read_signature(value, signature, tensors_left_);
  }
  MetaGraph take() {
    std::ranges::stable_sort(graph_.signatures, {}, &TfSignature::name);
    return std::move(graph_);
  }
  static bool wants(int field) noexcept { return field == kInfo || field == kSignature; }

 private:
  static constexpr int kInfo = 1, kSignature = 5;

  Status add_tags(std::string_view message) {
    ProtoFields fields(message);
    while (fields.next()) {
      if (!fields.is_bytes(4)) continue;
      if (graph_.tags.size() == kTagsMax) return too_many("tags", kTagsMax);
      graph_.tags.emplace_back(fields.bytes());
    }
    return fields.ok() ? Status() : no_message();
  }

  MetaGraph graph_;
  size_t tensors_left_ = kTensorsMax;
};

/// Reads a MetaGraphDef up to the stream's limit, of which what is large is skipped.
Result<MetaGraph> read_meta_graph(CodedInputStream& stream) {
  MetaGraphReader reader;
  std::string part;
  while (const uint32_t tag = stream.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const bool is_part = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!is_part || !MetaGraphReader::wants(field)) {
      if (!WireFormatLite::SkipField(&stream, tag)) return no_message();
      continue;
    }
    int size = 0;
    if (!stream.ReadVarintSizeAsInt(&size)) return no_message();
    if (size > kPartBytesMax) return too_many("bytes of a signature", kPartBytesMax);
    if (!stream.ReadString(&part, size)) return no_message();
    ATOLL_RETURN_IF_ERROR(reader.add(field, part));
  }
  if (!stream.ConsumedEntireMessage()) return no_message();
  return reader.take();
}

Result<std::vector<MetaGraph>> read_saved_model(CodedInputStream& stream) {
  constexpr int kMetaGraph = 2;
  std::vector<MetaGraph> graphs;
  while (const uint32_t tag = stream.ReadTag()) {
    if (tag != WireFormatLite::MakeTag(kMetaGraph, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&stream, tag)) return no_message();
      continue;
    }
    if (graphs.size() == kGraphsMax) return too_many("graphs", kGraphsMax);
    int size = 0;
    if (!stream.ReadVarintSizeAsInt(&size)) return no_message();
    const CodedInputStream::Limit limit = stream.PushLimit(size);
    if (stream.BytesUntilLimit() != size) return no_message();  // bytes in memory end before
    Result<MetaGraph> graph = read_meta_graph(stream);
    if (!graph.ok()) return std::move(graph).status();
    if (stream.BytesUntilLimit() != 0) return no_message();
    stream.PopLimit(limit);
    graphs.push_back(std::move(graph).value());
  }
  if (!stream.ConsumedEntireMessage()) return no_message();
  if (graphs.empty()) return not_readable("no graph");
  return graphs;
}

template <class Named>
std::string quoted_names(const std::vector<Named>& all) {
  std::string text;
  for (const Named& one : all) text += cat(text.empty() ? "'" : ", '", one.name, "'");
  return text.empty() ? "none" : text;
}

Status check_types(const TfSignature& signature) {
  for (const auto* list : {&signature.inputs, &signature.outputs}) {
    for (const TfTensorInfo& tensor : *list) {
      if (tensor.datatype() != DataType::kInvalid) continue;
      return invalid_argument("tensor '", tensor.name, "' of signature '", signature.name, "' is of ",
                              tensor.type_text(), ", expected a type of the protocol");
    }
  }
  return {};
}

}  // namespace

void split_tensor_name(std::string_view text, TfTensorInfo& tensor) {
  const size_t colon = text.rfind(':');
  std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  constexpr size_t kDigitsMax = 6;  // an operation has no more outputs
  const bool has_index = !digits.empty() && digits.size() <= kDigitsMax &&
                         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  tensor.operation = has_index ? text.substr(0, colon) : text;
  tensor.index = 0;
  if (!has_index) return;
  for (const char digit : digits) tensor.index = tensor.index * 10 + (digit - '0');
}

Result<std::vector<MetaGraph>> parse_meta_graphs(std::string_view saved_model) noexcept try {
  if (saved_model.size() > std::numeric_limits<int>::max()) return not_readable("more than 2 GiB");
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(saved_model.data()),
                          static_cast<int>(saved_model.size()));
  return read_saved_model(stream);
} catch (const std::exception& error) {
  return internal_error(error.what());
}

Result<std::vector<MetaGraph>> read_meta_graphs(const std::string& file) noexcept try {
  FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) {
    return internal_error("model file '", file, "': ", std::generic_category().message(errno));
  }
  google::protobuf::io::FileInputStream bytes(opened.get());
  CodedInputStream stream(&bytes);
  Result<std::vector<MetaGraph>> graphs = read_saved_model(stream);
  if (graphs.ok()) return graphs;
  if (bytes.GetErrno() != 0) {
    return internal_error("model file '", file, "': ", std::generic_category().message(bytes.GetErrno()));
  }
  return make_status(graphs.status().code(), "model file '", file, "': ", graphs.status().message());
} catch (const std::exception& error) {
  return internal_error("model file '", file, "': ", error.what());
}

Result<const MetaGraph*> choose_meta_graph(const std::vector<MetaGraph>& graphs, const std::string& tag) {
  const std::string wanted = tag.empty() ? "serve" : tag;
  const MetaGraph* found = nullptr;
  std::string there;
  for (const MetaGraph& graph : graphs) {
    const bool has_it = std::ranges::find(graph.tags, wanted) != graph.tags.end();
    if (has_it && graph.tags.size() == 1) return &graph;
    if (has_it && found == nullptr) found = &graph;
    std::string tags;
    for (const std::string& one : graph.tags) tags += cat(tags.empty() ? "'" : "+'", one, "'");
    there += cat(there.empty() ? "" : ", ", tags.empty() ? "no tag" : tags);
  }
  if (found == nullptr && tag.empty() && !graphs.empty()) found = &graphs.front();
  if (found != nullptr) return found;
  return invalid_argument("parameter 'TF_GRAPH_TAG': found '", wanted,
                          "', expected a tag of the model's graphs: ", there);
}

Result<const TfSignature*> choose_signature(const MetaGraph& graph, const std::string& name) {
  const std::string wanted = name.empty() ? "serving_default" : name;
  auto found = std::ranges::find(graph.signatures, wanted, &TfSignature::name);
  if (found == graph.signatures.end() && name.empty()) {
    found = std::ranges::find_if(graph.signatures, [](const TfSignature& one) {
      return one.name != "__saved_model_init_op" && one.name != "__saved_model_train_op";
    });
  }
  if (found == graph.signatures.end()) {
    return invalid_argument("parameter 'TF_SIGNATURE_DEF': found '", wanted,
                            "', expected a signature of the model: ", quoted_names(graph.signatures));
  }
  ATOLL_RETURN_IF_ERROR(check_types(*found));
  return &*found;
}

}  // namespace atl::tensorflow
