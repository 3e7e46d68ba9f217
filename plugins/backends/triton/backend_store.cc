#include "backends/triton/backend_store.h"

namespace atl::triton {

Result<std::shared_ptr<ForeignBackend>> BackendStore::get(const LibraryFile& file, const std::string& name,
                                                          std::string config_json) {
  std::shared_ptr<Seat> seat = seat_of(file, name);
  std::lock_guard lock(seat->mutex);
  Result<runtime::FileIdentity> identity = runtime::inspect_shared_object(file.path);
  const bool was_replaced = seat->library != nullptr && identity.ok() && *identity != seat->file;
  if (seat->backend != nullptr && !was_replaced) return seat->backend;
  if (seat->library == nullptr || was_replaced) {
    Result<BackendLibrary> library = BackendLibrary::open(file.path);
    if (!library.ok()) return std::move(library).status();
    seat->library = keep(std::move(library).value());
    seat->file = identity.ok() ? *identity : runtime::FileIdentity();
    seat->backend = nullptr;
    seat->failed.reset();
  }
  if (!seat->failed.expired()) {
    return unavailable("backend '", name, "' has not returned from being initialized, and was left behind");
  }
  auto backend = std::make_shared<ForeignBackend>(
      seat->library, ForeignBackend::Identity{name, file.artifacts, std::move(config_json)}, around_, calls_);
  if (Status status = backend->initialize(); !status.ok()) {
    seat->failed = backend->presence();
    return status;
  }
  around_->log.info(
      "backend '", name, "' is ", file.path, file.script.empty() ? "" : " with ", file.script,
      was_replaced ? "; its file was replaced, models that are loaded keep the one before" : "");
  seat->backend = std::move(backend);
  return seat->backend;
}

std::shared_ptr<BackendStore::Seat> BackendStore::seat_of(const LibraryFile& file, const std::string& name) {
  std::lock_guard lock(mutex_);
  auto& seat = seats_[{file.script.empty() ? file.path : file.script, name}];
  if (seat == nullptr) seat = std::make_shared<Seat>();
  return seat;
}

std::shared_ptr<const BackendLibrary> BackendStore::keep(BackendLibrary library) {
  std::lock_guard lock(mutex_);
  return libraries_.emplace_back(std::make_shared<BackendLibrary>(std::move(library)));
}

void BackendStore::close() noexcept {
  seats_.clear();
  for (const auto& library : libraries_) {
    if (library->left_calls()->any) {
      library->leave_mapped();
      around_->log.warning(library->path(), " stays mapped: a call into it was left behind");
    } else if (!unloads_) {
      library->leave_mapped();
    } else if (library->close_and_look()) {
      around_->log.info(library->path(), " stays mapped: it is open elsewhere, or cannot be unmapped");
    }
  }
  libraries_.clear();
}

}  // namespace atl::triton
