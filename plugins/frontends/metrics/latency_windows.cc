#include "frontends/metrics/latency_windows.h"

#include <set>

#include "frontends/metrics/latency_view.h"

namespace atl::frontends::metrics {

bool LatencyWindows::Window::belongs_to(const ModelStatistics& model) const {
  return load_duration_ns == model.load_duration_ns &&
         samples.back().latencies.total.count <= model.latencies.total.count;
}

void LatencyWindows::observe(const std::vector<ModelStatistics>& models, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::set<Key> present;
  for (const ModelStatistics& model : models) {
    Key key(model.name, model.version);
    Window& window = windows_[key];
    present.insert(std::move(key));
    if (window.samples.empty() || !window.belongs_to(model)) {
      // What it did before the first sample counts for the window too.
      window.load_duration_ns = model.load_duration_ns;
      window.samples.clear();
      window.samples.push_back({now_ns, {}});
      continue;
    }
    if (now_ns - window.samples.back().time_ns >= kStepNs)
      window.samples.push_back({now_ns, model.latencies});
    while (window.samples.size() > 1 && now_ns - window.samples[1].time_ns >= kWindowNs)
      window.samples.pop_front();
  }
  std::erase_if(windows_, [&](const auto& entry) { return !present.contains(entry.first); });
}

LatencyHistograms LatencyWindows::recent(const ModelStatistics& now) const {
  std::lock_guard lock(mutex_);
  auto found = windows_.find({now.name, now.version});
  if (found == windows_.end() || !found->second.belongs_to(now)) return now.latencies;
  const LatencyHistograms& before = found->second.samples.front().latencies;
  return {.queue = difference(now.latencies.queue, before.queue),
          .compute_input = difference(now.latencies.compute_input, before.compute_input),
          .compute_infer = difference(now.latencies.compute_infer, before.compute_infer),
          .compute_output = difference(now.latencies.compute_output, before.compute_output),
          .total = difference(now.latencies.total, before.total),
          .first_response = difference(now.latencies.first_response, before.first_response)};
}

size_t LatencyWindows::size() const {
  std::lock_guard lock(mutex_);
  return windows_.size();
}

}  // namespace atl::frontends::metrics
