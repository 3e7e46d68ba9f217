#include "backends/triton/foreign_backend.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "atoll/triton/status.h"

namespace atl::triton {
namespace {

/// As in the reference server, it overrides what the backend says.
void apply_environment(BackendTraits& traits) {
  const char* value = std::getenv("TRITON_PARALLEL_INSTANCE_LOADING");
  if (value == nullptr) return;
  if (std::string_view(value) == "1") traits.parallel_instances = true;
  if (std::string_view(value) == "0") traits.parallel_instances = false;
}

/// Any of Triton's backends may run on GPUs, whether it names them or not: KIND_AUTO means them where there are any. Of
/// no other effect: as the only group it is what there is without one, and behind others it is not reached.
void allow_gpus(BackendTraits& traits) {
  for (const PreferredGroup& group : traits.preferred_groups) {
    if (group.kind == InstanceKind::kGpu || group.kind == InstanceKind::kAuto) return;
  }
  traits.preferred_groups.push_back({.kind = InstanceKind::kAuto, .count = 0, .gpus = {}});
}

}  // namespace

ForeignBackend::ForeignBackend(std::shared_ptr<const BackendLibrary> library, Identity identity,
                               std::shared_ptr<ForeignContext> around, LoadCalls& calls)
    : library_(std::move(library)), around_(std::move(around)), calls_(calls) {
  handle_.name = std::move(identity.name);
  handle_.directory = std::move(identity.artifacts);
  handle_.config_json = std::move(identity.config_json);
  handle_.memory.memory = &around_->memory;
}

Status ForeignBackend::run(const char* function, std::function<Status()> call) const {
  return calls_.run({name(), function, library_->left_calls(), around_}, std::move(call));
}

Status ForeignBackend::initialize() {
  const std::string note = cat("backend '", name(), "'");
  auto call_initialize = [self = shared_from_this(), note] {
    self->handle_.is_initializing = true;
    Status status = call(self->entries().initialize, &self->handle_);
    self->handle_.is_initializing = false;
    self->initialized_ = status.ok();
    return std::move(status).note(note);
  };
  if (entries().initialize == nullptr) {
    initialized_ = true;
  } else {
    ATOLL_RETURN_IF_ERROR(run("TRITONBACKEND_Initialize", call_initialize));
  }
  if (entries().attributes != nullptr) {
    ATOLL_RETURN_IF_ERROR(run("TRITONBACKEND_GetBackendAttribute", [self = shared_from_this(), note] {
      return call(self->entries().attributes, &self->handle_, &self->attributes_).note(note);
    }));
  }
  apply_environment(attributes_.traits);
  allow_gpus(attributes_.traits);
  return {};
}

ForeignBackend::~ForeignBackend() {
  // One that failed half-way has something to undo if it left its state here, and may not expect the call if not.
  if (entries().finalize == nullptr || !(initialized_ || handle_.state != nullptr)) return;
  Status status = call(entries().finalize, &handle_);
  if (!status.ok()) log().error("backend '", handle_.name, "': failed finalizing: ", status.text());
}

}  // namespace atl::triton
