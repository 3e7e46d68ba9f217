#include "control/on_demand/unload_choice.h"

#include <algorithm>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/lib/resident_memory.h"

namespace atl::control {
namespace {

constexpr size_t kNamesMax = 10;

std::string seconds_text(int64_t ns) {
  int64_t tenths = ns / (kNsPerSecond / 10);
  return cat(tenths / 10, ".", tenths % 10, " s");
}

std::string facts(const LoadedModel& model) {
  return cat("idle for ", seconds_text(model.idle_ns), ", about ", size_text(model.bytes));
}

/// The longest idle first; of equals, the one that frees more.
void sort_by_use(std::vector<LoadedModel>& models) {
  std::sort(models.begin(), models.end(), [](const LoadedModel& a, const LoadedModel& b) {
    if (a.idle_ns != b.idle_ns) return a.idle_ns > b.idle_ns;
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
}

/// "; considered as well: 'b' (idle for 1.0 s, about 4.0 MiB); pinned: 'c'"
std::string others(const std::vector<LoadedModel>& models, size_t chosen, const std::string& newcomer) {
  std::string considered;
  std::string pinned;
  size_t left_out = 0;
  size_t named = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    const LoadedModel& model = models[i];
    if (i <= chosen && !model.pinned) continue;
    if (model.name == newcomer) continue;
    if (named == kNamesMax) {
      ++left_out;
      continue;
    }
    ++named;
    if (model.pinned) {
      pinned += cat(pinned.empty() ? "; pinned: '" : ", '", model.name, "'");
    } else {
      considered +=
          cat(considered.empty() ? "; considered as well: '" : ", '", model.name, "' (", facts(model), ")");
    }
  }
  std::string text = considered + pinned;
  if (left_out != 0) text += cat("; and ", left_out, " more");
  return text.empty() ? "; no other model is loaded" : text;
}

}  // namespace

std::vector<UnloadChoice> choose_idle(std::vector<LoadedModel> models, int64_t unload_after_ns) {
  std::vector<UnloadChoice> chosen;
  if (unload_after_ns == 0) return chosen;
  sort_by_use(models);
  for (size_t i = 0; i < models.size(); ++i) {
    const LoadedModel& model = models[i];
    if (model.idle_ns < unload_after_ns) break;
    if (model.pinned) continue;
    chosen.push_back({model.name, cat(facts(model), "; unload_after is ", seconds_text(unload_after_ns),
                                      others(models, i, {}))});
  }
  return chosen;
}

std::vector<UnloadChoice> choose_for_room(std::vector<LoadedModel> models, uint64_t budget_bytes,
                                          uint64_t needed_bytes, const std::string& newcomer) {
  std::vector<UnloadChoice> chosen;
  if (budget_bytes == 0) return chosen;
  sort_by_use(models);
  uint64_t used = needed_bytes;
  for (const LoadedModel& model : models) used += model.bytes;
  for (size_t i = 0; i < models.size() && used > budget_bytes; ++i) {
    const LoadedModel& model = models[i];
    if (model.pinned || model.name == newcomer) continue;
    chosen.push_back(
        {model.name,
         cat("least recently used: ", facts(model), "; '", newcomer, "' and what is loaded take about ",
             size_text(used), ", memory_budget is ", size_text(budget_bytes), others(models, i, newcomer))});
    used -= model.bytes;
  }
  return chosen;
}

}  // namespace atl::control
