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

}  // namespace

Result<std::shared_ptr<ForeignBackend>> ForeignBackend::create(const BackendLibrary& library,
                                                               Identity identity, MemoryManager& memory,
                                                               Log& log) {
  std::shared_ptr<ForeignBackend> backend(new ForeignBackend(library, std::move(identity), memory, log));
  ATOLL_RETURN_IF_ERROR(backend->initialize());
  return backend;
}

ForeignBackend::ForeignBackend(const BackendLibrary& library, Identity identity, MemoryManager& memory,
                               Log& log)
    : library_(library), log_(log) {
  handle_.name = std::move(identity.name);
  handle_.directory = std::move(identity.artifacts);
  handle_.config_json = std::move(identity.config_json);
  handle_.memory.memory = &memory;
}

Status ForeignBackend::initialize() {
  if (entries().initialize != nullptr) {
    handle_.is_initializing = true;
    Status status = call(entries().initialize, &handle_);
    handle_.is_initializing = false;
    if (!status.ok()) return status;
  }
  initialized_ = true;
  if (entries().attributes != nullptr) {
    ATOLL_RETURN_IF_ERROR(call(entries().attributes, &handle_, &attributes_));
  }
  apply_environment(attributes_.traits);
  return {};
}

ForeignBackend::~ForeignBackend() {
  // One that failed half-way has something to undo if it left its state here, and may not expect the call if not.
  if (entries().finalize == nullptr || !(initialized_ || handle_.state != nullptr)) return;
  Status status = call(entries().finalize, &handle_);
  if (!status.ok()) log_.error("backend '", handle_.name, "': failed finalizing: ", status.text());
}

}  // namespace atl::triton
