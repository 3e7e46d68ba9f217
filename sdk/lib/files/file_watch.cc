#include "atoll/lib/file_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "atoll/core/stop_executor.h"
#include "atoll/core/text.h"

namespace atl {
namespace {

/// Long enough for whoever exchanges one file after the other.
constexpr int64_t kQuietNs = 200 * kNsPerMs;

}  // namespace

FileWatch::FileWatch(Host& host, std::vector<std::string> paths, int64_t interval_ns,
                     std::function<void()> changed)
    : host_(host), paths_(std::move(paths)), interval_ns_(interval_ns), changed_(std::move(changed)) {}

FileWatch::~FileWatch() {
  state_changed_.reset();
  stop_executor(executor_);
}

Status FileWatch::start(const std::string& thread_name) {
  seen_ = last_seen_ = marks();
  at_start_ = seen_;
  ATOLL_RETURN_IF_ERROR(state_changed_.open(host_.events()));
  if (interval_ns_ == 0) return {};
  Result<SerialExecutorPtr> executor = host_.executors().create(thread_name, {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  look_later(interval_ns_);
  return {};
}

void FileWatch::manifest_is_applied() noexcept {
  const std::optional<std::string> at_start = std::exchange(at_start_, std::nullopt);
  if (!at_start || marks() != *at_start) renew();
}

void FileWatch::renew() noexcept {
  const std::lock_guard lock(mutex_);
  changed_();
}

std::string FileWatch::marks() const {
  std::string all;
  for (const std::string& path : paths_) {
    struct stat info {};
    if (path.empty() || ::stat(path.c_str(), &info) != 0) info = {};
    all += cat(info.st_dev, ' ', info.st_ino, ' ', info.st_size, ' ', info.st_mode, ' ', info.st_mtim.tv_sec,
               ' ', info.st_mtim.tv_nsec, ' ', info.st_ctim.tv_sec, ' ', info.st_ctim.tv_nsec, '\n');
  }
  return all;
}

// Read when two looks in a row have found the same: what is being written is not.
void FileWatch::look() noexcept {
  std::string now = marks();
  const bool is_quiet = now == last_seen_;
  last_seen_ = std::move(now);
  if (is_quiet && last_seen_ != seen_) {
    seen_ = last_seen_;
    renew();
  }
  look_later(last_seen_ == seen_ ? interval_ns_ : std::min(interval_ns_, kQuietNs));
}

void FileWatch::look_later(int64_t after_ns) noexcept {
  executor_->post_at(host_.clock().now_ns() + after_ns,
                     Task{[](void* self) { static_cast<FileWatch*>(self)->look(); }, this, nullptr});
}

}  // namespace atl
