#include "frontends/console/catalog_view.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace atl::frontends::console {
namespace {

constexpr int64_t kShortestNs = kNsPerSecond;
/// A look may take 1 % of a processor.
constexpr int64_t kPause = 100;

void add_duration(StatisticDuration& sum, const StatisticDuration& one) noexcept {
  sum.count += one.count;
  sum.ns += one.ns;
}

ModelMemory memory_of(const ModelStatistics& one) {
  ModelMemory found{one.name, one.version, 0, 0};
  for (const MemoryUsage& usage : one.memory)
    (usage.kind == MemoryKind::kGpu ? found.device_bytes : found.bytes) += usage.size_bytes;
  return found;
}

bool comes_before(const ModelIndexEntry& a, const ModelIndexEntry& b) noexcept {
  if (const int order = a.name.compare(b.name); order != 0) return order < 0;
  return version_number(a.version) < version_number(b.version);
}

}  // namespace

int64_t version_number(const std::string& version) noexcept {
  int64_t number = -1;
  (void)std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

void ModelSums::add(const ModelStatistics& one) noexcept {
  add_duration(success, one.success);
  add_duration(fail, one.fail);
  add_duration(queue, one.queue);
  add_duration(compute_input, one.compute_input);
  add_duration(compute_infer, one.compute_infer);
  add_duration(compute_output, one.compute_output);
  for (size_t i = 0; i < std::size(failures); ++i) failures[i] += one.failures[i];
  inferences += one.inference_count;
  executions += one.execution_count;
  pending += one.pending;
  total.merge(one.latencies.total);
}

Result<const CatalogLook*> CatalogView::look() {
  const int64_t age_ns = clock_.now_ns() - look_.taken_ns;
  if (!is_taken_ || age_ns >= std::max(kShortestNs, kPause * look_.took_ns)) ATOLL_RETURN_IF_ERROR(renew());
  return &look_;
}

const std::vector<ModelName>& CatalogView::ensembles() {
  if (ensembles_ns_ == look_.taken_ns) return ensembles_;
  ensembles_ns_ = look_.taken_ns;
  ensembles_.clear();
  for (const ModelIndexEntry& entry : look_.entries) {
    if (entry.state != model_state_name(ModelState::kReady)) continue;
    const Result<ModelRef> model = catalog_.acquire(entry.name, version_number(entry.version));
    if (model.ok() && model.value()->info().platform == "ensemble")
      ensembles_.push_back({entry.name, entry.version});
  }
  return ensembles_;
}

Status CatalogView::renew() {
  CatalogLook made;
  made.taken_ns = clock_.now_ns();
  made.wall_ms = clock_.wall_ns() / kNsPerMs;
  Result<std::vector<ModelIndexEntry>> index = catalog_.index(/*ready_only=*/false);
  if (!index.ok()) return std::move(index).status();
  made.entries = std::move(index).value();
  std::sort(made.entries.begin(), made.entries.end(), comes_before);
  for (const ModelIndexEntry& entry : made.entries)
    ++made.states[entry.state.empty() ? "NOT LOADED" : entry.state];
  catalog_.visit_statistics([&](const ModelStatistics& one) {
    made.sums.add(one);
    if (one.pending > 0) made.pending.push_back({one.name, one.version, one.pending, one.queue});
    if (one.memory.empty()) return;
    ModelMemory memory = memory_of(one);
    made.all_memory.bytes += memory.bytes;
    made.all_memory.device_bytes += memory.device_bytes;
    if (memory.bytes + memory.device_bytes > 0) made.memory.push_back(std::move(memory));
  });
  made.memory_models = made.memory.size();
  std::stable_sort(made.memory.begin(), made.memory.end(), [](const ModelMemory& a, const ModelMemory& b) {
    return a.bytes + a.device_bytes > b.bytes + b.device_bytes;
  });
  made.memory.resize(std::min(made.memory.size(), CatalogLook::kMostMemory));
  std::stable_sort(made.pending.begin(), made.pending.end(),
                   [](const WaitingModel& a, const WaitingModel& b) { return a.pending > b.pending; });
  made.pending_models = made.pending.size();
  made.pending.resize(std::min(made.pending.size(), CatalogLook::kMostPending));
  made.took_ns = clock_.now_ns() - made.taken_ns;
  look_ = std::move(made);
  is_taken_ = true;
  return {};
}

}  // namespace atl::frontends::console
