#include "memory/shared/shared_memory_plugin.h"

#include <pwd.h>

#include <charconv>
#include <utility>
#include <vector>

#include "atoll/stop_executor.h"

namespace atl::memory {

Result<std::vector<uid_t>> find_users(const std::vector<std::string>& names) noexcept {
  std::vector<uid_t> users;
  std::vector<char> buffer(64 * 1024);
  for (const std::string& name : names) {
    uid_t user = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), user);
    if (name.empty() || error != std::errc() || end != name.data() + name.size()) {
      passwd entry = {};
      passwd* found = nullptr;
      getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
      if (found == nullptr) {
        return invalid_argument("option 'allowed_owners' has '", name,
                                "', expected the name or number of a user");
      }
      user = found->pw_uid;
    }
    users.push_back(user);
  }
  return users;
}

Status SharedMemoryPlugin::init() {
  const Options& options = host_.options();
  settings_.allow_client_shm = options.get_bool("allow_client_shm");
  settings_.max_regions = static_cast<uint64_t>(options.get_int("max_regions"));
  settings_.max_bytes = options.get_bytes("max_bytes");
  settings_.idle_timeout_ns = options.get_duration_ns("idle_timeout");
  Result<std::vector<uid_t>> owners = find_users(options.get_strings("allowed_owners"));
  if (!owners.ok()) return std::move(owners).status();
  settings_.allowed_owners = std::move(owners).value();
  regions_.emplace(settings_, host_.clock(), &devices_);
  return {};
}

Status SharedMemoryPlugin::start() {
  if (!settings_.allow_client_shm) return {};
  ATOLL_RETURN_IF_ERROR(BusErrorGuard::install());
  Status status = devices_.open();
  if (status.ok() && settings_.idle_timeout_ns != 0) status = start_timer();
  if (status.ok()) return {};
  devices_.close();
  BusErrorGuard::uninstall();
  return status;
}

Status SharedMemoryPlugin::start_timer() noexcept {
  Result<SerialExecutorPtr> timer = host_.executors().create("shared-memory", ThreadPlacement{});
  if (!timer.ok()) {
    return std::move(timer).status().note("thread that unregisters idle shared memory regions");
  }
  timer_ = std::move(timer).value();
  sweep_at(host_.clock().now_ns() + settings_.idle_timeout_ns);
  return {};
}

void SharedMemoryPlugin::stop() {
  stop_executor(timer_);
  regions_->unregister_all();
  devices_.close();
  if (settings_.allow_client_shm) BusErrorGuard::uninstall();
}

void SharedMemoryPlugin::sweep_at(int64_t time_ns) noexcept {
  timer_->post_at(time_ns, make_task([this] { sweep(); }));
}

void SharedMemoryPlugin::sweep() noexcept {
  std::vector<std::string> removed;
  const int64_t next_ns = regions_->sweep(&removed);
  for (const std::string& name : removed) {
    host_.log().info("shared memory region '", name, "' is unregistered: nobody used it for ",
                     settings_.idle_timeout_ns / kNsPerMs, " ms");
  }
  sweep_at(next_ns);
}

void SharedMemoryPlugin::on_devices_changed() noexcept {
  std::vector<std::string> removed;
  regions_->unregister_outdated(&removed);
  for (const std::string& name : removed) {
    host_.log().warning("CUDA shared memory region '", name,
                        "' is unregistered: the plugin that provides memory of GPUs goes or is replaced");
  }
}

std::string SharedMemoryPlugin::holding() {
  const uint64_t in_use = regions_->in_use();
  return in_use == 0 ? std::string() : cat(in_use, " shared memory regions that requests use");
}

}  // namespace atl::memory
