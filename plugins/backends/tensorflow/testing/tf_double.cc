// TensorFlow's C calls over the graphs of tf_double_graph.h: as much of them as this backend uses, with the same ownership.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"
#include "backends/tensorflow/graph/proto_fields.h"
#include "backends/tensorflow/testing/tf_double_graph.h"

namespace atl::tensorflow {

struct TF_SessionOptions {
  std::string config;
};
struct TF_ImportGraphDefOptions {};
struct TF_Library {};

namespace {

constexpr int kInvalidArgument = 3, kNotFound = 5, kInternal = 13;

struct Text {
  char* data = nullptr;
  size_t size = 0;
};
static_assert(sizeof(Text) <= sizeof(TF_TString));

Text& text_in(TF_TString* string) { return *reinterpret_cast<Text*>(string); }
const Text& text_in(const TF_TString* string) { return *reinterpret_cast<const Text*>(string); }

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The graph with exactly these tags.
bool find_graph(std::string_view saved_model, const std::vector<std::string>& tags,
                std::string_view& graph_def) {
  ProtoFields models(saved_model);
  while (models.next()) {
    if (!models.is_bytes(2)) continue;
    std::vector<std::string> found;
    std::string_view graph;
    ProtoFields fields(models.bytes());
    while (fields.next()) {
      if (fields.is_bytes(2)) graph = fields.bytes();
      if (!fields.is_bytes(1)) continue;
      ProtoFields info(fields.bytes());
      while (info.next()) {
        if (info.is_bytes(4)) found.emplace_back(info.bytes());
      }
    }
    if (found != tags) continue;
    graph_def = graph;
    return true;
  }
  return false;
}

}  // namespace

#define ATOLL_TF_DOUBLE extern "C" [[gnu::visibility("default")]]

ATOLL_TF_DOUBLE const char* TF_Version(void) { return "2.0.0-double"; }
ATOLL_TF_DOUBLE TF_Status* TF_NewStatus(void) { return new TF_Status(); }
ATOLL_TF_DOUBLE void TF_DeleteStatus(TF_Status* status) { delete status; }
ATOLL_TF_DOUBLE int TF_GetCode(const TF_Status* status) { return status->code; }
ATOLL_TF_DOUBLE const char* TF_Message(const TF_Status* status) { return status->message.c_str(); }
ATOLL_TF_DOUBLE TF_Buffer* TF_NewBuffer(void) { return new TF_Buffer{}; }
ATOLL_TF_DOUBLE void TF_DeleteBuffer(TF_Buffer* buffer) { delete buffer; }

ATOLL_TF_DOUBLE TF_SessionOptions* TF_NewSessionOptions(void) { return new TF_SessionOptions(); }
ATOLL_TF_DOUBLE void TF_DeleteSessionOptions(TF_SessionOptions* options) { delete options; }
ATOLL_TF_DOUBLE void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t bytes,
                                  TF_Status* status) {
  status->set(0, "");
  options->config.assign(static_cast<const char*>(proto), bytes);
  ProtoFields fields(options->config);
  while (fields.next()) {
  }
  if (!fields.ok()) status->set(kInvalidArgument, "Unparseable ConfigProto");
}

ATOLL_TF_DOUBLE TF_Graph* TF_NewGraph(void) { return new TF_Graph(); }
ATOLL_TF_DOUBLE void TF_DeleteGraph(TF_Graph* graph) { delete graph; }
ATOLL_TF_DOUBLE TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void) {
  return new TF_ImportGraphDefOptions();
}
ATOLL_TF_DOUBLE void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* options) { delete options; }
ATOLL_TF_DOUBLE void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def,
                                            const TF_ImportGraphDefOptions*, TF_Status* status) {
  status->set(0, "");
  if (!graph->parse({static_cast<const char*>(graph_def->data), graph_def->length}))
    status->set(kInvalidArgument, "Invalid GraphDef");
}
ATOLL_TF_DOUBLE TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* name) {
  const auto found = graph->operations.find(name);
  return found == graph->operations.end() ? nullptr : &found->second;
}
ATOLL_TF_DOUBLE const char* TF_OperationOpType(TF_Operation* operation) { return operation->type.c_str(); }
ATOLL_TF_DOUBLE int TF_OperationNumOutputs(TF_Operation*) { return 1; }
ATOLL_TF_DOUBLE TfType TF_OperationOutputType(TF_Output output) { return output.oper->dtype; }
ATOLL_TF_DOUBLE int TF_GraphGetTensorNumDims(TF_Graph*, TF_Output output, TF_Status* status) {
  status->set(0, "");
  return output.oper->unknown_rank ? -1 : static_cast<int>(output.oper->dims.size());
}
ATOLL_TF_DOUBLE void TF_GraphGetTensorShape(TF_Graph*, TF_Output output, int64_t* dims, int count,
                                            TF_Status* status) {
  status->set(0, "");
  std::copy_n(output.oper->dims.begin(), count, dims);
}

ATOLL_TF_DOUBLE TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions*, TF_Status* status) {
  status->set(0, "");
  return new TF_Session{graph, {}};
}
ATOLL_TF_DOUBLE TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* options, const TF_Buffer*,
                                                         const char* folder, const char* const* tags,
                                                         int tag_count, TF_Graph* graph, TF_Buffer*,
                                                         TF_Status* status) {
  status->set(0, "");
  const std::string saved_model = content_of(std::filesystem::path(folder) / "saved_model.pb");
  std::string_view graph_def;
  if (!find_graph(saved_model, {tags, tags + tag_count}, graph_def)) {
    status->set(kNotFound, "Could not find meta graph def matching supplied tags");
    return nullptr;
  }
  if (!graph->parse(graph_def)) {
    status->set(kInternal, "Invalid GraphDef");
    return nullptr;
  }
  return TF_NewSession(graph, options, status);
}
ATOLL_TF_DOUBLE void TF_CloseSession(TF_Session*, TF_Status* status) { status->set(0, ""); }
ATOLL_TF_DOUBLE void TF_DeleteSession(TF_Session* session, TF_Status* status) {
  status->set(0, "");
  delete session;
}
ATOLL_TF_DOUBLE void TF_SessionRun(TF_Session* session, const TF_Buffer*, const TF_Output* inputs,
                                   TF_Tensor* const* input_values, int input_count, const TF_Output* outputs,
                                   TF_Tensor** output_values, int output_count,
                                   const TF_Operation* const* targets, int target_count, TF_Buffer*,
                                   TF_Status* status) {
  status->set(0, "");
  DoubleRun run(*session, *status);
  for (int i = 0; i < input_count; ++i) run.feed(inputs[i], *input_values[i]);
  std::vector<std::unique_ptr<TF_Tensor>> results;
  for (int i = 0; i < output_count && status->code == 0; ++i)
    results.push_back(run.compute(outputs[i].oper->name));
  for (int i = 0; i < target_count && status->code == 0; ++i) run.compute(targets[i]->name);
  for (int i = 0; i < output_count; ++i)
    output_values[i] = status->code == 0 ? results[i].release() : nullptr;
}

ATOLL_TF_DOUBLE TF_Tensor* TF_AllocateTensor(TfType type, const int64_t* dims, int dim_count, size_t bytes) {
  return new TF_Tensor{
      type, {dims, dims + dim_count}, std::shared_ptr<void>(std::malloc(bytes + 1), std::free), bytes};
}
ATOLL_TF_DOUBLE TF_Tensor* TF_NewTensor(TfType type, const int64_t* dims, int dim_count, void* data,
                                        size_t bytes, void (*deallocator)(void*, size_t, void*),
                                        void* argument) {
  auto held = std::shared_ptr<void>(data, [=](void* memory) { deallocator(memory, bytes, argument); });
  return new TF_Tensor{type, {dims, dims + dim_count}, std::move(held), bytes};
}
ATOLL_TF_DOUBLE void TF_DeleteTensor(TF_Tensor* tensor) { delete tensor; }
ATOLL_TF_DOUBLE TfType TF_TensorType(const TF_Tensor* tensor) { return tensor->type; }
ATOLL_TF_DOUBLE int TF_NumDims(const TF_Tensor* tensor) { return static_cast<int>(tensor->dims.size()); }
ATOLL_TF_DOUBLE int64_t TF_Dim(const TF_Tensor* tensor, int index) {
  return tensor->dims[static_cast<size_t>(index)];
}
ATOLL_TF_DOUBLE size_t TF_TensorByteSize(const TF_Tensor* tensor) { return tensor->bytes; }
ATOLL_TF_DOUBLE void* TF_TensorData(const TF_Tensor* tensor) { return tensor->data.get(); }

ATOLL_TF_DOUBLE void TF_StringInit(TF_TString* string) { new (string) Text(); }
ATOLL_TF_DOUBLE void TF_StringCopy(TF_TString* string, const char* bytes, size_t size) {
  Text& text = text_in(string);
  std::free(text.data);
  text = {static_cast<char*>(std::malloc(size + 1)), size};
  std::memcpy(text.data, bytes, size);
}
ATOLL_TF_DOUBLE const char* TF_StringGetDataPointer(const TF_TString* string) { return text_in(string).data; }
ATOLL_TF_DOUBLE size_t TF_StringGetSize(const TF_TString* string) { return text_in(string).size; }
ATOLL_TF_DOUBLE void TF_StringDealloc(TF_TString* string) {
  std::free(text_in(string).data);
  text_in(string) = Text();
}
ATOLL_TF_DOUBLE TF_Library* TF_LoadLibrary(const char* file, TF_Status* status) {
  status->set(0, "");
  if (content_of(file) == "operations") return new TF_Library();
  status->set(kInvalidArgument, cat(file, ": file too short"));
  return nullptr;
}
ATOLL_TF_DOUBLE void TF_DeleteLibraryHandle(TF_Library* library) { delete library; }

}  // namespace atl::tensorflow
