#include "backends/triton/foreign_instance.h"

#include <utility>

#include "atoll/triton/status.h"
#include "backends/triton/settings.h"

namespace atl::triton {

Result<std::unique_ptr<BackendInstance>> ForeignInstance::create(std::shared_ptr<ForeignModel> model,
                                                                 const InstanceSpec& spec) {
  const ForeignBackend& backend = model->backend();
  // The call's own, if it is left behind.
  auto made = std::make_shared<std::unique_ptr<ForeignInstance>>(new ForeignInstance(std::move(model), spec));
  if (backend.entries().instance_initialize == nullptr) {
    (*made)->initialized_ = true;
  } else {
    ATOLL_RETURN_IF_ERROR(
        backend.run("TRITONBACKEND_ModelInstanceInitialize", [made] { return (*made)->call_initialize(); }));
  }
  (*made)->handle_.reporter = spec.reporter;
  return std::unique_ptr<BackendInstance>(std::move(*made));
}

ForeignInstance::ForeignInstance(std::shared_ptr<ForeignModel> model, const InstanceSpec& spec)
    : model_(std::move(model)) {
  handle_.name = spec.name;
  handle_.kind = spec.kind;
  handle_.device_id = spec.device_id;
  handle_.passive = spec.passive;
  handle_.host_policy_json = host_policy_json(spec);
  handle_.profiles = spec.profiles;
  handle_.secondary_devices = spec.secondary_devices;
  handle_.model = &model_->handle();
  if (spec.kind == InstanceKind::kGpu && model_->is_serial_per_device()) {
    turn_ = &model_->turn_on(spec.device_id);
  }
}

Status ForeignInstance::call_initialize() {
  ATOLL_RETURN_IF_ERROR(call(model_->backend().entries().instance_initialize, &handle_));
  initialized_ = true;
  model_->note_memory(handle_.memory_usage);
  return {};
}

ForeignInstance::~ForeignInstance() {
  // As with a backend that failed half-way.
  const EntryPoints& entries = model_->backend().entries();
  if (entries.instance_finalize == nullptr || !(initialized_ || handle_.state != nullptr)) return;
  Status status = call(entries.instance_finalize, &handle_);
  if (!status.ok()) {
    model_->backend().log().error("model '", model_->handle().name, "': failed finalizing instance '",
                                  handle_.name, "': ", status.text());
  }
}

Status ForeignInstance::execute(const Batch& batch) noexcept {
  if (turn_ == nullptr) return run(batch);
  std::lock_guard lock(*turn_);
  return run(batch);
}

Status ForeignInstance::run(const Batch& batch) noexcept {
  open_.clear();
  handles_.clear();
  for (Request* request : batch.requests) {
    open_.push_back(open_request(*request));
    handles_.push_back(open_.back().handle);
  }
  Status status = call(model_->backend().entries().execute, &handle_, handles_.data(),
                       static_cast<uint32_t>(handles_.size()));
  if (status.ok()) return {};
  // All of them are the caller's again, but a backend that failed in the middle may have ended some.
  for (const OpenRequest& one : open_) (void)end_request(one, status.clone(), handle_.reporter);
  return {};
}

Status ForeignInstance::readiness() const {
  const auto is_ready = model_->backend().entries().instance_ready;
  return is_ready == nullptr ? Status() : call(is_ready, &handle_);
}

bool ForeignInstance::ready() const noexcept { return readiness().ok(); }

std::string ForeignInstance::unready_reason() const {
  const Status status = readiness();
  return status.ok() ? std::string() : std::string(status.message().substr(0, status.message().find('\n')));
}

}  // namespace atl::triton
