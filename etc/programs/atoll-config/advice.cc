#include "advice.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "atoll/core/text.h"
#include "configs/pbtxt/nearest.h"

namespace atl::config {

std::string meant(const std::string& name, const std::vector<std::string>& known) {
  // Of a letter or two every other name of that length is near.
  auto near = name.size() < 3 ? std::nullopt : pbtxt::nearest(name, known);
  return near ? cat(", did you mean '", *near, "'?") : std::string();
}

namespace {

using inference::ModelConfig;

/// The names that the plugins have in Atoll's manifests. A server may have instances of other names, and
/// backends made for Triton, which are known by their files.
void advise_on_backend(const ModelConfig& config, const Warn& warn) {
  static const std::vector<std::string> kBackends = {
      "cuda", "identity", "llamacpp", "onnxruntime", "openvino", "python", "pytorch", "repeat", "tensorflow"};
  const std::string& backend = config.backend();
  if (backend.empty() || backend == "unknown" || config.has_ensemble_scheduling() ||
      std::find(kBackends.begin(), kBackends.end(), backend) != kBackends.end())
    return;
  std::string all;
  for (const std::string& known : kBackends) all += cat(all.empty() ? "" : ", ", known);
  warn("backend", cat("'", backend, "' is none of Atoll's backends (", all,
                      "); a server has it only as an instance of that name, or by backends/triton or "
                      "backends/python",
                      meant(backend, kBackends)));
}

void advise_on_steps(const ModelConfig& config, const std::set<std::string>& siblings, const Warn& warn) {
  for (int i = 0; i < config.ensemble_scheduling().step_size(); ++i) {
    const auto& step = config.ensemble_scheduling().step(i);
    std::string field = cat("ensemble_scheduling.step[", i, "]");
    if (step.model_version() == 0) {
      warn(field,
           "model_version is 0 or not written: Atoll takes the latest version, Triton version 0; write -1");
    }
    if (!siblings.empty() && !siblings.contains(step.model_name())) {
      warn(field, cat("model '", step.model_name(), "' is not in the repository",
                      meant(step.model_name(), {siblings.begin(), siblings.end()})));
    }
  }
}

void advise_on_warmup(const ModelConfig& config, const Warn& warn) {
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    if (config.model_warmup(i).batch_size() != 0) continue;
    warn(cat("model_warmup[", i, "]"),
         cat("sample '", config.model_warmup(i).name(), "' is skipped: its batch_size is 0 or not written"));
  }
}

/// Whether they are run is the server's manifest's business, which is not looked at here.
void advise_on_agents(const ModelConfig& config, const Warn& warn) {
  for (int i = 0; i < config.model_repository_agents().agents_size(); ++i) {
    warn(cat("model_repository_agents.agents[", i, "]"),
         cat("repository agent '", config.model_repository_agents().agents(i).name(),
             "' is run only where the server has agents/triton; without it the model is refused"));
  }
}

/// "_" and the tag must be the name of a Prometheus label.
bool is_label(std::string_view tag) {
  return !tag.starts_with('_') && std::all_of(tag.begin(), tag.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

}  // namespace

void advise(const ModelConfig& config, const std::set<std::string>& siblings, const Warn& warn) {
  advise_on_backend(config, warn);
  advise_on_steps(config, siblings, warn);
  advise_on_warmup(config, warn);
  advise_on_agents(config, warn);
  if (config.has_dynamic_batching() && config.max_batch_size() == 0) {
    warn("dynamic_batching",
         "max_batch_size is 0: requests are never batched, unless the backend completes it");
  }
  const auto& batching = config.dynamic_batching();
  if (batching.priority_levels() == 0 && batching.priority_queue_policy_size() != 0) {
    warn("dynamic_batching.priority_queue_policy", "is ignored without priority_levels");
  }
  for (const auto& [tag, value] : config.metric_tags()) {
    if (is_label(tag)) continue;
    warn("metric_tags",
         cat("tag '", tag,
             "' is left out of the metrics, expected letters, digits and underscores, none first"));
  }
  for (int i = 0; i < config.batch_input_size(); ++i) {
    if (!config.batch_input(i).target_name().empty()) continue;
    warn(cat("batch_input[", i, "]"), "has no target_name: no tensor is made of it");
  }
}

}  // namespace atl::config
