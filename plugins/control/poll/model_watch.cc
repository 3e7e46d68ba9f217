#include "control/poll/model_watch.h"

namespace atl::control {

Decision ModelWatch::decide(const Sights& sights, int64_t now_ns, bool retry, bool at_once) {
  Decision decision;
  for (const auto& [name, sight] : sights) models_.try_emplace(name);
  for (auto entry = models_.begin(); entry != models_.end();) {
    Model& model = entry->second;
    auto sight = sights.find(entry->first);
    std::optional<Sight> now;
    if (sight != sights.end()) now = sight->second;
    if (model.seen != now) {
      bool disturbed = model.served && now && !now->problem.empty();
      if (disturbed) decision.disturbed.push_back(entry->first);
      model.seen = std::move(now);
      model.seen_ns = now_ns;
    }
    bool settled = first_ || at_once || now_ns - model.seen_ns >= settle_ns_;
    bool stays = decide(entry->first, model, settled, retry, &decision);
    entry = stays ? std::next(entry) : models_.erase(entry);
  }
  first_ = false;
  return decision;
}

bool ModelWatch::decide(const std::string& name, Model& model, bool settled, bool retry, Decision* decision) {
  if (!model.seen) {
    if (!model.tried) return false;
    if (!settled) {
      decision->unsettled.insert(name);
      return true;
    }
    decision->unload.push_back(name);
    return false;
  }
  if (model.served && !model.seen->problem.empty()) return true;  // what was loaded keeps serving
  bool due = model.tried != model.seen || (model.failed && retry);
  if (!due) return true;
  if (settled) {
    model.tried = model.seen;
    decision->load.push_back(name);
  } else {
    decision->unsettled.insert(name);
  }
  return true;
}

void ModelWatch::loaded(const std::string& model, bool well) {
  auto found = models_.find(model);
  if (found == models_.end()) return;
  found->second.served |= well;
  found->second.failed = !well;
}

}  // namespace atl::control
