#include "backends/triton/foreign_model.h"

#include <exception>
#include <utility>

#include "atoll/proto/model_config_json.h"
#include "atoll/triton/status.h"
#include "backends/triton/config_merge.h"

namespace atl::triton {

ForeignModel::ForeignModel(std::shared_ptr<ForeignBackend> backend, const ModelSource& source)
    : backend_(std::move(backend)) {
  handle_.name = source.name;
  handle_.version = static_cast<uint64_t>(source.version);
  handle_.directory = source.model_directory;
  handle_.backend = &backend_->handle();
  handle_.auto_complete = source.auto_complete;
  handle_.server = backend_->server();
}

ForeignModel::~ForeignModel() {
  // As with a backend that failed half-way.
  const EntryPoints& entries = backend_->entries();
  if (entries.model_finalize == nullptr || !(initialized_ || handle_.state != nullptr)) return;
  Status status = call(entries.model_finalize, &handle_);
  if (!status.ok()) {
    backend_->log().error("model '", handle_.name, "': failed finalizing model: ", status.text());
  }
}

Status ForeignModel::initialize(const std::string& config) {
  ATOLL_RETURN_IF_ERROR(set_final_config(config));
  if (backend_->entries().model_initialize == nullptr) {
    initialized_ = true;
    return {};
  }
  return backend_->run("TRITONBACKEND_ModelInitialize",
                       [self = shared_from_this()] { return self->call_initialize(); });
}

Status ForeignModel::call_initialize() {
  handle_.host = this;
  Status status = call(backend_->entries().model_initialize, &handle_);
  handle_.host = nullptr;
  if (!status.ok()) return status;
  initialized_ = true;
  note_memory(handle_.memory_usage);
  return {};
}

Status ForeignModel::set_final_config(const std::string& config) {
  inference::ModelConfig message;
  if (!message.ParseFromString(config)) return internal_error("the model's configuration cannot be parsed");
  return show(message);
}

Status ForeignModel::show(const inference::ModelConfig& config) {
  Result<std::string> json = proto::model_config_json(config.SerializeAsString());
  if (!json.ok()) return std::move(json).status();
  handle_.config_json = std::move(json).value();
  config_ = config;
  return {};
}

Status ForeignModel::set_config(std::string_view json) noexcept {
  try {
    Result<std::string> bytes = proto::model_config_from_json(json);
    if (!bytes.ok()) return std::move(bytes).status();
    inference::ModelConfig given;
    if (!given.ParseFromString(*bytes)) return internal_error("the configuration cannot be parsed");
    inference::ModelConfig merged = config_;
    ATOLL_RETURN_IF_ERROR(merge_config(given, &merged));
    return show(merged);
  } catch (const std::exception& exception) {
    return internal_error("the configuration cannot be set: ", exception.what());
  }
}

bool ForeignModel::is_serial_per_device() const noexcept {
  return handle_.backend->policy == TRITONBACKEND_EXECUTION_DEVICE_BLOCKING &&
         !config_.has_sequence_batching();
}

std::mutex& ForeignModel::turn_on(int32_t gpu) {
  std::lock_guard lock(mutex_);
  return turns_[gpu];
}

void ForeignModel::note_memory(const std::vector<MemoryUsage>& of_instance) {
  std::lock_guard lock(mutex_);
  memory_usage_.insert(memory_usage_.end(), of_instance.begin(), of_instance.end());
}

std::vector<MemoryUsage> ForeignModel::memory_usage() const {
  std::lock_guard lock(mutex_);
  return memory_usage_;
}

}  // namespace atl::triton
