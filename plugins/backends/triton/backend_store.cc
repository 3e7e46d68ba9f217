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
    seat->library = &keep(std::move(library).value());
    seat->file = identity.ok() ? *identity : runtime::FileIdentity();
    seat->backend = nullptr;
  }
  auto backend =
      ForeignBackend::create(*seat->library, {name, file.artifacts, std::move(config_json)}, memory_, log_);
  if (!backend.ok()) return std::move(backend).status().note(cat("backend '", name, "'"));
  log_.info("backend '", name, "' is ", file.path, file.script.empty() ? "" : " with ", file.script,
            was_replaced ? "; its file was replaced, models that are loaded keep the one before" : "");
  seat->backend = std::move(backend).value();
  return seat->backend;
}

std::shared_ptr<BackendStore::Seat> BackendStore::seat_of(const LibraryFile& file, const std::string& name) {
  std::lock_guard lock(mutex_);
  auto& seat = seats_[{file.script.empty() ? file.path : file.script, name}];
  if (seat == nullptr) seat = std::make_shared<Seat>();
  return seat;
}

const BackendLibrary& BackendStore::keep(BackendLibrary library) {
  std::lock_guard lock(mutex_);
  return libraries_.emplace_back(std::move(library));
}

void BackendStore::close() noexcept {
  seats_.clear();
  for (BackendLibrary& library : libraries_) {
    if (!unloads_) {
      library.leave_mapped();
    } else if (library.close_and_look()) {
      log_.info(library.path(), " stays mapped: it is open elsewhere, or can not be unmapped");
    }
  }
  libraries_.clear();
}

}  // namespace atl::triton
