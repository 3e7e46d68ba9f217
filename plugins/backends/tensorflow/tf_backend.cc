#include "backends/tensorflow/tf_backend.h"

#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "backends/common/batch_completion.h"
#include "backends/common/model_file.h"
#include "backends/tensorflow/graph/meta_graphs.h"
#include "backends/tensorflow/graph/tf_session.h"
#include "backends/tensorflow/library/tf_library.h"
#include "backends/tensorflow/run/tf_model.h"
#include "backends/tensorflow/tf_autofill.h"

namespace atl::tensorflow {
namespace {

namespace fs = std::filesystem;

/// A model that is open, with what the configuration is compared with.
struct OpenModel {
  std::unique_ptr<TfSession> session;
  TfSignature signature;
  uint64_t size_bytes = 0;  ///< of the files
};

bool is_graph_def(const inference::ModelConfig& config) { return config.platform() == "tensorflow_graphdef"; }

/// Of a SavedModel its saved_model.pb, of a GraphDef the file itself.
Result<backends::ModelFile> find_file(const inference::ModelConfig& config, const ModelSource& source) {
  const std::string& named = config.default_model_filename();
  if (is_graph_def(config)) {
    return backends::find_model_file(source.version_directory, named.empty() ? "model.graphdef" : named,
                                     "a GraphDef");
  }
  const std::string folder = named.empty() ? "model.savedmodel" : named;
  auto file = backends::find_model_file(source.version_directory, cat(folder, "/saved_model.pb"),
                                        "the saved_model.pb of a SavedModel");
  if (file.ok()) return file;
  std::error_code ignored;
  for (const char* other : {"saved_model.pbtxt", "saved_model.cpb"}) {
    if (!fs::exists(fs::path(source.version_directory) / folder / other, ignored)) continue;
    return invalid_argument("SavedModel '", folder, "': found ", other, ", expected saved_model.pb");
  }
  return file;
}

/// The model's signature, and in `tags` those of its graph.
Result<TfSignature> signature_of(const backends::ModelFile& file, const TfSettings& settings,
                                 std::vector<std::string>& tags) {
  auto graphs = read_meta_graphs(file.path);
  if (!graphs.ok()) return std::move(graphs).status();
  auto graph = choose_meta_graph(*graphs, settings.graph_tag);
  if (!graph.ok()) return std::move(graph).status();
  auto signature = choose_signature(**graph, settings.signature);
  if (!signature.ok()) return std::move(signature).status();
  tags = (*graph)->tags;
  return **signature;
}

uint64_t folder_bytes(const fs::path& folder) {
  uint64_t sum = 0;
  std::error_code error, ignored;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(ignored)) continue;
    const auto bytes = entry->file_size(ignored);
    if (!ignored) sum += bytes;
  }
  return sum;
}

/// Operations of a model are there for the process, which cannot let go of them.
Status load_operations(const ModelSource& source, const TfSettings& settings) {
  static std::mutex mutex;
  static std::set<std::string> loaded;
  for (const std::string& name : settings.operation_files) {
    auto file = find_operation_file(source.model_directory, name);
    if (!file.ok()) return std::move(file).status();
    std::lock_guard lock(mutex);
    if (loaded.contains(*file)) continue;
    TfStatus status;
    TF_Library* const library = tf().TF_LoadLibrary(file->c_str(), status);
    if (!status.ok() || library == nullptr) {
      const Status failure = status.status();
      return make_status(failure.code(), "op_library_filename '", name, "': ", failure.message());
    }
    tf().TF_DeleteLibraryHandle(library);  // the library stays
    loaded.insert(*file);
  }
  return {};
}

Result<OpenModel> open_saved_model(const backends::ModelFile& file, const TfSettings& settings) {
  OpenModel model;
  std::vector<std::string> tags;
  auto signature = signature_of(file, settings, tags);
  if (!signature.ok()) return std::move(signature).status();
  model.signature = std::move(signature).value();
  const fs::path folder = fs::path(file.path).parent_path();
  auto session = TfSession::load_saved_model(folder.string(), tags, settings.config_bytes());
  if (!session.ok()) return std::move(session).status();
  model.session = std::move(session).value();
  model.size_bytes = folder_bytes(folder);
  return model;
}

/// Fills in what the graph says of the tensors that the configuration names.
template <class Tensors>
Status describe_written(const TfSession& session, const Tensors& written,
                        std::vector<TfTensorInfo>& tensors) {
  for (const auto& one : written) {
    TfTensorInfo& tensor = tensors.emplace_back();
    tensor.name = one.name();
    split_tensor_name(tensor.name, tensor);
    ATOLL_RETURN_IF_ERROR(session.describe(tensor));
  }
  return {};
}

Result<OpenModel> open_graph_def(const inference::ModelConfig& config, const backends::ModelFile& file,
                                 const TfSettings& settings) {
  if (config.input_size() == 0 || config.output_size() == 0) {
    return invalid_argument(
        "the configuration has no inputs or no outputs, expected both: a GraphDef does not say them");
  }
  OpenModel model;
  auto session = TfSession::import_graph(file.path, settings.config_bytes());
  if (!session.ok()) return std::move(session).status();
  model.session = std::move(session).value();
  ATOLL_RETURN_IF_ERROR(describe_written(*model.session, config.input(), model.signature.inputs));
  for (const TfTensorInfo& input : model.signature.inputs) {
    auto place = model.session->find(input);
    if (!place.ok()) return std::move(place).status();
    if (!model.session->is_placeholder(*place))
      return invalid_argument("unexpected inference input '", input.name,
                              "': it is no placeholder of the graph");
  }
  ATOLL_RETURN_IF_ERROR(describe_written(*model.session, config.output(), model.signature.outputs));
  model.size_bytes = file.size_bytes;
  return model;
}

/// Inputs that need not be fed, because the graph or the configuration says so.
std::vector<std::string> optional_inputs(const OpenModel& model) {
  std::vector<std::string> names;
  for (const TfTensorInfo& input : model.signature.inputs) {
    auto place = model.session->find(input);
    if (place.ok() && model.session->has_default(*place)) names.push_back(input.name);
  }
  return names;
}

Status not_loadable(const inference::ModelConfig& config, Status failure) {
  return make_status(failure.code(), "unable to load model '", config.name(), "', ", failure.message());
}

}  // namespace

Result<std::string> TfBackend::complete_config(const ModelSource& source) noexcept try {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  if (is_graph_def(config) || has_all_tensors(config)) return source.config;
  auto default_size = backends::default_max_batch_size(source);
  if (!default_size.ok()) return std::move(default_size).status();
  auto settings = read_tf_settings(config, source, defaults_, log_);
  if (!settings.ok()) return std::move(settings).status();
  auto file = find_file(config, source);
  if (!file.ok()) return std::move(file).status();
  std::vector<std::string> tags;
  auto signature = signature_of(*file, *settings, tags);
  if (!signature.ok()) return std::move(signature).status();
  ATOLL_RETURN_IF_ERROR(complete_from_signature(config, *signature, *default_size));
  return config.SerializeAsString();
} catch (const std::exception& error) {
  return internal_error("model '", source.name, "': ", error.what());
}

Result<std::unique_ptr<BackendModel>> TfBackend::load(const ModelSource& source) noexcept try {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const inference::ModelConfig& config = view->message();
  auto settings = read_tf_settings(config, source, defaults_, log_);
  if (!settings.ok()) return std::move(settings).status();
  auto file = find_file(config, source);
  if (!file.ok()) return std::move(file).status();
  auto library = open_tensorflow(library_files_);
  if (!library.ok()) return std::move(library).status();
  ATOLL_RETURN_IF_ERROR(load_operations(source, *settings));
  auto model =
      is_graph_def(config) ? open_graph_def(config, *file, *settings) : open_saved_model(*file, *settings);
  if (!model.ok()) return not_loadable(config, std::move(model).status());
  Status fits = check_against_signature(config, model->signature, optional_inputs(*model));
  auto plan =
      fits.ok() ? make_plan(config, model->signature, *model->session) : Result<TfModelPlan>(std::move(fits));
  if (!plan.ok()) return not_loadable(config, std::move(plan).status());
  if (!settings->init_operations_file.empty()) {
    auto names = read_init_operations(source, settings->init_operations_file);
    if (!names.ok()) return not_loadable(config, std::move(names).status());
    Status done = model->session->run_operations(*names);
    if (!done.ok()) return not_loadable(config, std::move(done));
  }
  return std::unique_ptr<BackendModel>(new TfModel(clock_, std::move(plan).value(), std::move(model->session),
                                                   model->size_bytes, defaults_.gpu_instances_on_cpu));
} catch (const std::exception& error) {
  return internal_error("model '", source.name, "': ", error.what());
}

}  // namespace atl::tensorflow
