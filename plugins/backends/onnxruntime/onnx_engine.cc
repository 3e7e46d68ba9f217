#include "backends/onnxruntime/onnx_engine.h"

#include <utility>

#include "atoll/core/usable_cpus.h"

namespace atl::ort {

Status OnnxEngine::start(LibraryPlaces places) {
  places_ = std::move(places);
  Status status = start_parts();
  if (!status.ok()) stop();
  return status;
}

Status OnnxEngine::start_parts() {
  const Options& options = host_.options();
  turn_telemetry_off();
  ATOLL_RETURN_IF_ERROR(scratch_.open());
  ATOLL_RETURN_IF_ERROR(model_files_.open());
  gpus_.emplace(host_, options.get_strings("cuda_libraries"));
  BackendContext context;
  context.clock = &host_.clock();
  context.scratch = &scratch_;
  context.model_files = &model_files_;
  context.gpus = &*gpus_;
  context.scratch_keep_bytes = options.get_bytes("scratch_keep");
  SessionDefaults defaults;
  defaults.cpus = usable_cpus();
  defaults.intra_op_threads = options.get_int("intra_op_threads");
  defaults.inter_op_threads = options.get_int("inter_op_threads");
  defaults.allow_spinning = options.get_bool("allow_spinning");
  backend_.open(context, defaults);
  std::vector<std::string> passed_over;
  Status opened = open(passed_over);
  if (opened.ok()) {
    report_use(passed_over);
  } else if (opened.code() == Code::kUnavailable && !library_) {
    host_.log().warning("its models will not load: ", opened.message());
  } else {
    return opened;
  }
  return gpus_->open();
}

void OnnxEngine::stop() noexcept {
  gpus_.reset();
  scratch_.close();
  model_files_.close();
  std::lock_guard lock(mutex_);
  is_open_ = false;
  backend_.set_environment(nullptr);
  environment_.reset();
  library_.reset();
}

/// With the mutex held, or before any model is loaded.
Status OnnxEngine::open(std::vector<std::string>& passed_over) {
  const Options& options = host_.options();
  auto library = OrtLibrary::begin(options.get_string("library"), places_, passed_over);
  if (!library.ok()) return std::move(library).status();
  library_.emplace(std::move(library).value());
  auto environment =
      Environment::open(host_.log(), severity_from_text(options.get_string("log_level")), host_.executors());
  if (!environment.ok()) {
    library_.reset();
    return std::move(environment).status();
  }
  environment_ = std::move(environment).value();
  backend_.set_environment(environment_.get());
  version_ = library_->version();
  is_open_ = true;
  return {};
}

/// Also what a user installs while the server runs is found.
Status OnnxEngine::open_for_load() noexcept {
  std::lock_guard lock(mutex_);
  if (environment_ != nullptr) return {};
  std::vector<std::string> passed_over;
  ATOLL_RETURN_IF_ERROR(open(passed_over));
  report_use(passed_over);
  gpus_->look();
  return {};
}

void OnnxEngine::report_use(const std::vector<std::string>& passed_over) {
  for (const std::string& line : passed_over)
    host_.log().warning("passed over: ", line, "; ", way_to_get_one());
  host_.log().info("models run with ONNX Runtime ", library_->text());
}

Result<std::string> OnnxEngine::complete_config(const ModelSource& source) noexcept {
  ATOLL_RETURN_IF_ERROR(open_for_load());
  return backend_.complete_config(source);
}

Result<std::unique_ptr<BackendModel>> OnnxEngine::load(const ModelSource& source) noexcept {
  ATOLL_RETURN_IF_ERROR(open_for_load());
  return backend_.load(source);
}

void OnnxEngine::collect(MetricSink& sink) const noexcept {
  if (!is_open_) return;
  sink.family("atoll_onnxruntime_info",
              "1; the version of ONNX Runtime that the instance uses is in the label.", MetricKind::kGauge);
  const MetricLabel labels[] = {{"instance", host_.instance_name()}, {"version", version_}};
  sink.sample(labels, 1);
}

}  // namespace atl::ort
