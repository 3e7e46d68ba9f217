#include "backends/openvino/openvino_backend.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "backends/common/batch_completion.h"
#include "backends/common/config_view.h"
#include "backends/openvino/autofill.h"
#include "backends/openvino/datatypes.h"
#include "backends/openvino/model_format.h"
#include "backends/openvino/ov_instance.h"
#include "backends/openvino/ov_plan.h"

namespace atl::openvino {
namespace {

Result<Handle<OvModel>> read_model(const OvCore& core, const FormatFiles& files) {
  Handle<OvModel> model;
  // The second name is that of the weights: null for those beside the file.
  Status status =
      make(model, api().ov_core_read_model, &core, files.path.c_str(), static_cast<const char*>(nullptr));
  if (status.ok()) return model;
  return invalid_argument("model file '", files.path, "' cannot be read as ", format_name(files.format), ": ",
                          status.message());
}

Status check_kinds(const inference::ModelConfig& config) {
  using Group = inference::ModelInstanceGroup;
  for (const Group& group : config.instance_group()) {
    if (group.kind() == Group::KIND_CPU || group.kind() == Group::KIND_AUTO) continue;
    return invalid_argument("instance group '", group.name(), "': found ", Group::Kind_Name(group.kind()),
                            ", expected KIND_CPU or KIND_AUTO: backends/openvino runs on CPUs");
  }
  return {};
}

/// OpenVINO 2026.4 moves texts byte by byte in operations that ONNX has for them (Identity, Slice, Tile), and then frees their memory
/// twice. What other formats do with texts has no such operations, or comes with an extension.
Status check_texts(const OvModelPlan& plan, ModelFormat format) {
  if (format != ModelFormat::kOnnx) return {};
  const auto refuse = [](std::string_view kind, const std::string& name) {
    return make_status(
        Code::kUnimplemented, kind, " '", name,
        "' is BYTES: OpenVINO cannot be trusted with texts of ONNX models; backends/onnxruntime serves them");
  };
  for (const OvInputPlan& input : plan.inputs)
    if (input.datatype == DataType::kBytes) return refuse("input", input.name);
  for (const OvOutputPlan& output : plan.outputs)
    if (output.datatype == DataType::kBytes) return refuse("output", output.name);
  return {};
}

void warn_of_lost_bits(const OvModelPlan& plan, Log& log) {
  std::string names;
  const auto add = [&](const std::string& name, DataType datatype) {
    if (loses_bits(datatype))
      names += cat(names.empty() ? "" : ", ", "'", name, "' (", data_type_name(datatype), ")");
  };
  for (const OvInputPlan& input : plan.inputs) add(input.name, input.datatype);
  for (const OvOutputPlan& output : plan.outputs) add(output.name, output.datatype);
  if (names.empty()) return;
  log.warning("model '", plan.model_name,
              "': OpenVINO computes INT64 and UINT64 in 32 bits and FP64 in FP32 on CPUs, so values of ",
              names, " may change without an error");
}

class OvLoadedModel final : public BackendModel {
 public:
  OvLoadedModel(const Clock& clock, std::shared_ptr<OvShared> shared, Handle<OvCore> core,
                uint64_t size_bytes) noexcept
      : clock_(clock), core_(std::move(core)), shared_(std::move(shared)), size_bytes_(size_bytes) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    if (spec.kind == InstanceKind::kGpu)
      return invalid_argument("instance '", spec.name, "': found KIND_GPU, expected KIND_CPU");
    auto run = OvRun::make(shared_->compiled->current(), shared_->plan);
    if (!run.ok()) return std::move(run).status();
    return std::unique_ptr<BackendInstance>(
        new OvInstance(clock_, shared_, std::move(run).value(), spec.reporter));
  }
  /// The size of the model's files, which is mostly weights.
  std::vector<MemoryUsage> memory_usage() const noexcept override {
    return {{MemoryKind::kCpu, 0, size_bytes_}};
  }

 private:
  const Clock& clock_;
  Handle<OvCore> core_;  ///< of this model alone; null: the shared one
  std::shared_ptr<OvShared> shared_;
  uint64_t size_bytes_;
};

Result<std::unique_ptr<BackendModel>> load_model(const inference::ModelConfig& config,
                                                 const OvSettings& settings, const FormatFiles& files,
                                                 Host& host) {
  Handle<OvCore> own_core;
  if (!settings.extension.empty()) {
    auto made = make_core();
    if (!made.ok()) return std::move(made).status();
    own_core = std::move(made).value();
    ATOLL_RETURN_IF_ERROR(check(api().ov_core_add_extension(own_core.get(), settings.extension.c_str())));
  }
  auto shared_one = shared_core();
  if (!shared_one.ok()) return std::move(shared_one).status();
  const OvCore& core = own_core == nullptr ? **shared_one : static_cast<const OvCore&>(*own_core);
  auto model = read_model(core, files);
  if (!model.ok()) return std::move(model).status();
  auto plan = make_plan(config, settings, **model);
  if (!plan.ok()) return std::move(plan).status();
  plan->has_state = files.has_state;
  ATOLL_RETURN_IF_ERROR(check_texts(*plan, files.format));
  warn_of_lost_bits(*plan, host.log());
  auto shared = std::make_shared<OvShared>();
  shared->plan = std::move(plan).value();
  auto compiled = OvCompiled::make(core, std::move(model).value(), shared->plan, settings, host.log());
  if (!compiled.ok()) return std::move(compiled).status();
  shared->compiled = std::move(compiled).value();
  return std::unique_ptr<BackendModel>(
      new OvLoadedModel(host.clock(), std::move(shared), std::move(own_core), files.size_bytes));
}

}  // namespace

Status OpenVinoBackend::open() noexcept {
  const bool was_open = !openvino_text().empty();
  ATOLL_RETURN_IF_ERROR(open_openvino(settings_.places));
  if (!was_open) host_.log().info("models run with OpenVINO ", openvino_text());
  return {};
}

Result<std::string> OpenVinoBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  if (is_complete(config)) return source.config;
  auto default_size = backends::default_max_batch_size(source);
  if (!default_size.ok()) return std::move(default_size).status();
  auto files = find_model(source.version_directory, config.default_model_filename());
  if (!files.ok()) return std::move(files).status();
  ATOLL_RETURN_IF_ERROR(open());
  auto core = shared_core();
  if (!core.ok()) return std::move(core).status();
  auto model = read_model(**core, *files);
  if (!model.ok()) return std::move(model).status();
  auto signature = read_signature(**model);
  if (!signature.ok()) return std::move(signature).status();
  ATOLL_RETURN_IF_ERROR(complete(config, *signature, std::max<int64_t>(*default_size, 1)));
  return config.SerializeAsString();
}

Result<std::unique_ptr<BackendModel>> OpenVinoBackend::load(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const inference::ModelConfig& config = view->message();
  ATOLL_RETURN_IF_ERROR(check_kinds(config));
  auto settings = read_settings(config, source.model_directory, settings_.defaults, host_.log());
  if (!settings.ok()) return std::move(settings).status();
  auto files = find_model(source.version_directory, config.default_model_filename());
  if (!files.ok()) return std::move(files).status();
  ATOLL_RETURN_IF_ERROR(open());
  auto model = load_model(config, *settings, *files, host_);
  if (model.ok()) return model;
  return make_status(model.status().code(), "unable to load model '", config.name(),
                     "': ", model.status().message());
}

Result<bool> OpenVinoBackend::serves(const ModelSource& source) noexcept {
  if (!settings_.serves_tensorflow) return false;
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const std::string& platform = view->message().platform();
  return platform == "tensorflow_savedmodel" || platform == "tensorflow_graphdef";
}

}  // namespace atl::openvino
