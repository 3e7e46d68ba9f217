#include "atoll/runtime/line_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

namespace atl::runtime {
namespace {

constexpr int kPollMs = 100;            // how often a writer that cannot go on looks whether it is to end
constexpr int64_t kEndTimeoutMs = 500;  // for the thread to notice that it is to end

struct Entry {
  std::shared_ptr<const LineFile> file;
  std::string line;
};

// In pieces that a pipe takes at once: poll() says that there is room for one, so no write waits for the
// reader. \returns how much was written
size_t write_all(int descriptor, std::string_view text, const std::atomic<bool>& ended) noexcept {
  const size_t size = text.size();
  while (!text.empty()) {
    pollfd ready{descriptor, POLLOUT, 0};
    const int polled = ::poll(&ready, 1, kPollMs);
    if (polled == 0 && !ended.load()) continue;
    if (polled <= 0 && (polled == 0 || errno != EINTR)) break;
    if (polled < 0) continue;
    const ssize_t written = ::write(descriptor, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return size - text.size();
}

}  // namespace

struct LineWriter::Queue {
  explicit Queue(size_t most) : bytes_most(most) {}

  const size_t bytes_most;
  std::atomic<uint64_t> pending{0};  // lines queued, and the one that is being written
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> ended{false};
  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  std::deque<Entry> entries;
  size_t bytes = 0;
  bool overflowing = false;
  bool failing = false;                // the last line could not be written
  std::weak_ptr<const LineFile> torn;  // has part of a line at its end
  uint64_t overflow = 0;               // lines that were dropped since take_overflow()
  bool exited = false;
};

std::shared_ptr<LineFile> LineFile::standard_error() {
  return std::make_shared<LineFile>(STDERR_FILENO, false);
}

Result<std::shared_ptr<LineFile>> LineFile::append_to(const std::string& path) noexcept {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return unavailable(std::strerror(errno));
  return std::make_shared<LineFile>(descriptor, true);
}

LineFile::~LineFile() {
  if (owned_) ::close(descriptor_);
}

LineWriter::LineWriter(size_t queue_bytes_most) : queue_(std::make_shared<Queue>(queue_bytes_most)) {
  try {
    std::thread([queue = queue_] { run(queue); }).detach();
    threaded_ = true;
  } catch (const std::exception&) {
    queue_->exited = true;
  }
}

LineWriter::~LineWriter() {
  std::unique_lock lock(queue_->mutex);
  queue_->ended.store(true);
  queue_->changed.notify_all();
  queue_->changed.wait_for(lock, std::chrono::milliseconds(kEndTimeoutMs), [&] { return queue_->exited; });
}

void LineWriter::run(const std::shared_ptr<Queue>& queue) noexcept {
  ::pthread_setname_np(::pthread_self(), "log");
  std::unique_lock lock(queue->mutex);
  while (true) {
    queue->changed.wait(lock, [&] { return queue->ended.load() || !queue->entries.empty(); });
    if (queue->ended.load()) break;
    Entry entry = std::move(queue->entries.front());
    queue->entries.pop_front();
    const size_t size = entry.line.size();
    if (queue->torn.lock() == entry.file) entry.line.insert(0, 1, '\n');
    lock.unlock();
    const size_t written = write_all(entry.file->descriptor(), entry.line, queue->ended);
    lock.lock();
    queue->failing = written != entry.line.size();
    if (queue->failing) {
      queue->dropped.fetch_add(1);
      ++queue->overflow;
      if (written != 0) queue->torn = entry.file;
    } else if (queue->torn.lock() == entry.file) {
      queue->torn.reset();
    }
    entry.file.reset();
    queue->bytes -= size;
    if (queue->pending.fetch_sub(1) == 1) queue->changed.notify_all();
  }
  queue->exited = true;
  queue->changed.notify_all();
}

void LineWriter::push(std::shared_ptr<const LineFile> file, std::string line) {
  if (!threaded_) {
    if (write_all(file->descriptor(), line, queue_->ended) != line.size()) queue_->dropped.fetch_add(1);
    return;
  }
  std::lock_guard lock(queue_->mutex);
  queue_->overflowing |= queue_->bytes + line.size() > queue_->bytes_most;
  if (queue_->overflowing && queue_->bytes > queue_->bytes_most / 2) {
    queue_->dropped.fetch_add(1);
    ++queue_->overflow;
    return;
  }
  queue_->overflowing = false;
  const size_t size = line.size();
  queue_->entries.push_back({std::move(file), std::move(line)});
  queue_->bytes += size;
  queue_->pending.fetch_add(1);
  queue_->changed.notify_all();
}

uint64_t LineWriter::take_overflow() noexcept {
  std::lock_guard lock(queue_->mutex);
  const bool is_shut = queue_->failing || queue_->bytes > queue_->bytes_most / 2;
  return is_shut ? 0 : std::exchange(queue_->overflow, 0);
}

bool LineWriter::flush(int64_t timeout_ms) noexcept {
  std::unique_lock lock(queue_->mutex);
  return queue_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                  [&] { return queue_->pending.load() == 0; });
}

void LineWriter::count_dropped() noexcept { queue_->dropped.fetch_add(1); }
uint64_t LineWriter::dropped() const noexcept { return queue_->dropped.load(); }
const std::atomic<uint64_t>& LineWriter::pending() const noexcept { return queue_->pending; }

}  // namespace atl::runtime
