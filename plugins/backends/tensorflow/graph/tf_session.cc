#include "backends/tensorflow/graph/tf_session.h"

#include <exception>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

namespace atl::tensorflow {
namespace {

Result<TfHandle<TF_SessionOptions>> make_options(const std::string& config) {
  TfHandle<TF_SessionOptions> options(tf().TF_NewSessionOptions());
  TfStatus status;
  tf().TF_SetConfig(options.get(), config.data(), config.size(), status);
  if (!status.ok()) return status.status();
  return options;
}

std::string_view type_of(const TF_Output& output) {
  const char* const type = tf().TF_OperationOpType(output.oper);
  return type == nullptr ? "" : type;
}

}  // namespace

Result<std::unique_ptr<TfSession>> TfSession::load_saved_model(const std::string& folder,
                                                               const std::vector<std::string>& tags,
                                                               const std::string& config) noexcept {
  auto options = make_options(config);
  if (!options.ok()) return std::move(options).status();
  std::unique_ptr<TfSession> made(new TfSession());
  std::vector<const char*> texts;
  for (const std::string& tag : tags) texts.push_back(tag.c_str());
  TfStatus status;
  made->session_.reset(tf().TF_LoadSessionFromSavedModel(options->get(), nullptr, folder.c_str(),
                                                         texts.data(), static_cast<int>(texts.size()),
                                                         made->graph_.get(), nullptr, status));
  if (status.ok() && made->session_ != nullptr) return made;
  const Status failure = status.status();
  return make_status(failure.code(), "SavedModel '", folder, "': ", failure.message());
}

Result<std::unique_ptr<TfSession>> TfSession::import_graph(const std::string& file,
                                                           const std::string& config) noexcept try {
  auto options = make_options(config);
  if (!options.ok()) return std::move(options).status();
  std::unique_ptr<TfSession> made(new TfSession());
  TfStatus status;
  {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) return internal_error("model file '", file, "' cannot be read");
    const TF_Buffer graph_def{bytes.data(), bytes.size(), nullptr};
    TfHandle<TF_ImportGraphDefOptions> import(tf().TF_NewImportGraphDefOptions());
    tf().TF_GraphImportGraphDef(made->graph_.get(), &graph_def, import.get(), status);
  }
  if (status.ok()) made->session_.reset(tf().TF_NewSession(made->graph_.get(), options->get(), status));
  if (status.ok() && made->session_ != nullptr) return made;
  const Status failure = status.status();
  return make_status(failure.code(), "model file '", file, "': ", failure.message());
} catch (const std::exception& error) {
  return internal_error("model file '", file, "': ", error.what());
}

Result<TF_Output> TfSession::find(const TfTensorInfo& tensor) const noexcept {
  TF_Operation* const operation = tf().TF_GraphOperationByName(graph_.get(), tensor.operation.c_str());
  if (operation == nullptr) {
    return invalid_argument("tensor '", tensor.name, "': there is no operation '", tensor.operation,
                            "' in the model's graph");
  }
  const int count = tf().TF_OperationNumOutputs(operation);
  if (tensor.index >= count) {
    return invalid_argument("tensor '", tensor.name, "': found output ", tensor.index, " of operation '",
                            tensor.operation, "', which has ", count);
  }
  return TF_Output{operation, tensor.index};
}

bool TfSession::has_default(const TF_Output& output) const noexcept {
  return type_of(output) == "PlaceholderWithDefault";
}

bool TfSession::is_placeholder(const TF_Output& output) const noexcept {
  return type_of(output).starts_with("Placeholder");
}

Status TfSession::describe(TfTensorInfo& tensor) const noexcept {
  auto output = find(tensor);
  if (!output.ok()) return std::move(output).status();
  tensor.type = tf().TF_OperationOutputType(*output);
  TfStatus status;
  const int rank = tf().TF_GraphGetTensorNumDims(graph_.get(), *output, status);
  if (!status.ok()) return status.status();
  tensor.unknown_rank = rank < 0;
  tensor.dims.assign(static_cast<size_t>(std::max(rank, 0)), -1);
  if (rank > 0) tf().TF_GraphGetTensorShape(graph_.get(), *output, tensor.dims.data(), rank, status);
  return status.status();
}

Status TfSession::run_operations(std::span<const std::string> names) noexcept {
  TfStatus status;
  for (const std::string& name : names) {
    const TF_Operation* const operation = tf().TF_GraphOperationByName(graph_.get(), name.c_str());
    if (operation == nullptr) {
      return invalid_argument("init_ops: found '", name, "', which is no operation of the model's graph");
    }
    tf().TF_SessionRun(session_.get(), nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &operation, 1,
                       nullptr, status);
    if (status.ok()) continue;
    const Status failure = status.status();
    return make_status(failure.code(), "init_ops: '", name, "': ", failure.message());
  }
  return {};
}

}  // namespace atl::tensorflow
