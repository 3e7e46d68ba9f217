#include "backends/python/process/worker_metrics.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "atoll/core/text.h"

namespace atl::python {
namespace {

uint64_t resident_bytes(pid_t pid) {
  static const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream file(cat("/proc/", pid, "/statm"));
  uint64_t pages = 0, resident = 0;
  return file >> pages >> resident ? resident * page_bytes : 0;
}

struct Family {
  std::string_view name, help;
  MetricKind kind;
  uint64_t (*value)(const WorkerCounts&);
};

constexpr Family kFamilies[] = {
    {"atoll_python_workers", "Worker processes of Python models that run", MetricKind::kGauge,
     [](const WorkerCounts& counts) { return counts.workers(); }},
    {"atoll_python_worker_deaths_total", "Worker processes that have ended and were not asked to",
     MetricKind::kCounter, [](const WorkerCounts& counts) { return counts.deaths(); }},
    {"atoll_python_worker_restarts_total", "Worker processes started in the place of one that has ended",
     MetricKind::kCounter, [](const WorkerCounts& counts) { return counts.restarts(); }},
    {"atoll_python_worker_memory_bytes",
     "Resident memory of worker processes, with what is shared with the server", MetricKind::kGauge,
     [](const WorkerCounts& counts) { return counts.memory_bytes(); }}};

}  // namespace

void WorkerCounts::add_worker(pid_t pid) {
  std::lock_guard lock(mutex_);
  pids_.push_back(pid);
}

void WorkerCounts::remove_worker(pid_t pid) noexcept {
  std::lock_guard lock(mutex_);
  if (const auto found = std::ranges::find(pids_, pid); found != pids_.end()) pids_.erase(found);
}

uint64_t WorkerCounts::workers() const noexcept {
  std::lock_guard lock(mutex_);
  return pids_.size();
}

uint64_t WorkerCounts::memory_bytes() const noexcept {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const pid_t pid : pids_) bytes += resident_bytes(pid);
  return bytes;
}

std::shared_ptr<WorkerCounts> WorkerMetrics::of(const std::string& model, int64_t version) {
  std::lock_guard lock(mutex_);
  std::erase_if(counts_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<WorkerCounts>& known = counts_[{model, cat(version)}];
  std::shared_ptr<WorkerCounts> counts = known.lock();
  if (counts == nullptr) known = counts = std::make_shared<WorkerCounts>();
  return counts;
}

void WorkerMetrics::collect(MetricSink& sink) const noexcept {
  std::vector<std::pair<Key, std::shared_ptr<WorkerCounts>>> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, known] : counts_) {
      if (auto counts = known.lock(); counts != nullptr) all.emplace_back(key, std::move(counts));
    }
  }
  if (all.empty()) return;
  for (const Family& family : kFamilies) {
    sink.family(family.name, family.help, family.kind);
    for (const auto& [key, counts] : all) {
      const MetricLabel labels[] = {{"model", key.first}, {"version", key.second}};
      sink.sample(labels, static_cast<double>(family.value(*counts)));
    }
  }
}

}  // namespace atl::python
