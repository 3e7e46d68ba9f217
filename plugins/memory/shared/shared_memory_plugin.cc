#include "memory/shared/shared_memory_plugin.h"

#include <pwd.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "atoll/core/stop_executor.h"

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

Result<RegionSettings> read_settings(const Options& options) noexcept {
  RegionSettings settings;
  settings.allow_client_shm = options.get_bool("allow_client_shm");
  settings.max_regions = static_cast<uint64_t>(options.get_int("max_regions"));
  settings.max_bytes = options.get_bytes("max_bytes");
  settings.idle_timeout_ns = options.get_duration_ns("idle_timeout");
  Result<std::vector<uid_t>> owners = find_users(options.get_strings("allowed_owners"));
  if (!owners.ok()) return std::move(owners).status();
  settings.allowed_owners = std::move(owners).value();
  return settings;
}

Status SharedMemoryPlugin::init() {
  Result<RegionSettings> settings = read_settings(host_.options());
  if (!settings.ok()) return std::move(settings).status();
  settings_ = std::move(settings).value();
  regions_.emplace(settings_, host_.clock(), &devices_);
  return {};
}

bool SharedMemoryPlugin::can_follow(const Options& next) noexcept {
  Result<RegionSettings> settings = read_settings(next);
  return settings.ok() && settings->allow_client_shm == settings_.allow_client_shm;
}

void SharedMemoryPlugin::follow(const Options& next) noexcept {
  Result<RegionSettings> settings = read_settings(next);
  if (!settings.ok()) return host_.log().error(settings.status().text());  // a user who went just now
  settings_ = std::move(settings).value();
  regions_->follow(settings_);
  if (!settings_.allow_client_shm) return;
  if (timer_ != nullptr) {
    timer_->post(make_task([this] { sweep(); }));
  } else if (settings_.idle_timeout_ns != 0) {
    if (Status status = start_timer(); !status.ok()) host_.log().error(status.text());
  }
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
  timer_->post(make_task([this] { sweep(); }));
  return {};
}

void SharedMemoryPlugin::stop() {
  stop_executor(timer_);
  regions_->unregister_all();
  devices_.close();
  if (settings_.allow_client_shm) BusErrorGuard::uninstall();
}

void SharedMemoryPlugin::sweep() noexcept {
  timer_->cancel(std::exchange(next_sweep_, 0));
  std::vector<std::string> removed;
  const std::optional<int64_t> next_ns = regions_->sweep(&removed);
  for (const std::string& name : removed) {
    host_.log().info("shared memory region '", name, "' is unregistered: nobody used it for ",
                     regions_->idle_timeout_ns() / kNsPerMs, " ms");
  }
  if (!next_ns) return;
  next_sweep_ = timer_->post_at(*next_ns, make_task([this] {
    next_sweep_ = 0;
    sweep();
  }));
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
