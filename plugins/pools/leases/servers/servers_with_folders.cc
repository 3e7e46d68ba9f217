#include "pools/leases/servers/servers_with_folders.h"

#include <utility>

namespace atl::pools {

// --- FolderLauncher ---

Status FolderLauncher::remember(const ServerSpec& server, LauncherListener& listener) {
  {
    const std::scoped_lock lock(mutex_);
    known_.insert_or_assign(server.id, Known{&listener, server.repository});
  }
  return folders_.make(server.repository);
}

void FolderLauncher::launch(const ServerSpec& server, LauncherListener& listener) noexcept {
  if (Status made = remember(server, listener); !made.ok()) return server_ended(server.id, std::move(made));
  launcher_.launch(server, *this);
}

/// Where the directory cannot be made again, loads will say so.
void FolderLauncher::adopt(const ServerSpec& server, LauncherListener& listener) noexcept {
  (void)remember(server, listener).ok();
  launcher_.adopt(server, *this);
}

void FolderLauncher::forget(LauncherListener& listener) noexcept {
  launcher_.forget(*this);
  const std::scoped_lock lock(mutex_);
  std::erase_if(known_, [&](const auto& known) { return known.second.listener == &listener; });
}

void FolderLauncher::server_running(std::string_view id, const ServerAddress& address) noexcept {
  LauncherListener* listener = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = known_.find(id); found != known_.end()) listener = found->second.listener;
  }
  if (listener != nullptr) listener->server_running(id, address);
}

void FolderLauncher::server_ended(std::string_view id, Status reason) noexcept {
  Known known;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(id);
    if (found == known_.end()) return;
    known = std::move(found->second);
    known_.erase(found);
  }
  folders_.remove(known.repository);
  known.listener->server_ended(id, std::move(reason));
}

// --- FolderModelHost ---

void FolderModelHost::check_models(const std::vector<LeaseModel>& models, Done done) {
  if (is_stopped_) return;
  files_.post(make_task([this, models, done = std::move(done)]() mutable {
    Status status;
    for (const LeaseModel& model : models) {
      if (status.ok()) status = folders_.find(model).status().clone();
    }
    answers_on_.post(make_task(
        [status = std::move(status), done = std::move(done)]() mutable { done(std::move(status)); }));
  }));
}

void FolderModelHost::load(const ModelServer& server, const LeaseModel& model, Done done) {
  if (is_stopped_) return;
  files_.post(make_task([this, server, model, done = std::move(done)]() mutable {
    Status put = folders_.put(server.repository, model);
    answers_on_.post(make_task([this, server, model, put = std::move(put), done = std::move(done)]() mutable {
      if (!put.ok()) return done(std::move(put));
      host_.load(server, model, std::move(done));
    }));
  }));
}

void FolderModelHost::unload(const ModelServer& server, const std::string& model, Done done) {
  host_.unload(server, model, [this, server, model, done = std::move(done)](Status status) mutable {
    if (status.ok()) folders_.take_off(server.repository, model);
    done(std::move(status));
  });
}

}  // namespace atl::pools
