#include "kernel/lifecycle/plan.h"

#include <algorithm>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/manifest_check.h"
#include "atoll/runtime/plugin_file.h"
#include "atoll/runtime/plugin_folders.h"
#include "atoll/runtime/problems.h"

namespace atl::kernel {
namespace {

Result<LibraryUse> open_library(const InstanceConfig& config, const std::vector<std::string>& folders,
                                PluginLoader& loader) {
  Result<std::string> path = runtime::find_plugin_file(config.use, config.file, folders);
  if (!path.ok()) return std::move(path).status();
  Result<std::shared_ptr<PluginLibrary>> library = loader.open(path.value(), config.use);
  if (!library.ok()) return std::move(library).status();
  return LibraryUse(loader, std::move(library).value());
}

/// What keeps a plugin from being loaded, which may be several lines.
void add_lines(const PlannedInstance& instance, const Status& failure,
               const std::vector<std::string>& folders, runtime::Problems& problems) {
  const InstanceConfig& config = instance.config;
  const std::string hint = runtime::plugin_hint(failure.code(), config.use, config.file, folders);
  problems.add_lines(instance.config.plugin_where, cat(instance.text(), ": "), cat(failure.text(), hint));
}

/// What plugins say of their options, and what instances take from each other.
void check_entries(const std::vector<PlannedInstance>& instances, runtime::Problems& problems) {
  std::vector<std::string> sections;
  for (const PlannedInstance& instance : instances) sections.push_back(cat("plugin.", instance.config.name));
  std::vector<runtime::ManifestEntry> entries;
  for (size_t i = 0; i < instances.size(); ++i) {
    const PlannedInstance& instance = instances[i];
    entries.push_back({sections[i], instance.config.where, instance.config.options, *instance.options,
                       instance.library->descriptor()});
    const std::string doing = cat("calling 'check' of ", instance.text());
    runtime::ThreadNote note(doing.c_str());
    runtime::check_entry(entries.back(), problems);
  }
  runtime::check_addresses(entries, problems);
}

runtime::GraphNode node_of(const PlannedInstance& instance) {
  runtime::GraphNode node;
  node.name = instance.config.name;
  node.use = instance.config.use;
  node.flags = instance.library->descriptor().flags;
  node.provides = instance.library->provides();
  node.needs = instance.library->needs();
  node.named = instance.config.needs;
  node.where = instance.config.where;
  node.named_where = instance.config.needs_where;
  return node;
}

}  // namespace

std::vector<std::string> search_path(const Manifest& manifest,
                                     const std::vector<std::string>& default_plugin_path) {
  std::vector<std::string> folders = manifest.server.plugin_path;
  folders.insert(folders.end(), default_plugin_path.begin(), default_plugin_path.end());
  return folders;
}

std::vector<std::string> new_instances(const Manifest& manifest,
                                       const std::vector<std::string>& default_plugin_path,
                                       const PluginLoader& loader) {
  std::vector<std::string> folders = search_path(manifest, default_plugin_path), names;
  for (const InstanceConfig& config : manifest.instances) {
    if (!config.enabled) continue;
    Result<std::string> path = runtime::find_plugin_file(config.use, config.file, folders);
    if (path.ok() && !loader.has_open(path.value())) names.push_back(config.name);
  }
  return names;
}

Result<GenerationPlan> plan_generation(const Manifest& manifest,
                                       const std::vector<std::string>& default_plugin_path,
                                       PluginLoader& loader, runtime::Problems problems) {
  std::vector<std::string> folders = search_path(manifest, default_plugin_path);
  std::vector<PlannedInstance> instances;
  bool all_mapped = true;
  for (const InstanceConfig& config : manifest.instances) {
    if (!config.enabled) continue;
    if (config.use.empty()) all_mapped = false;
    if (config.use.empty()) continue;
    PlannedInstance instance;
    instance.config = config;
    const std::string doing = cat("loading ", instance.text());
    runtime::ThreadNote note(doing.c_str());
    runtime::CallWatch::Call watched(loader.calls(), doing);
    Result<LibraryUse> library = open_library(config, folders, loader);
    if (!library.ok()) {
      add_lines(instance, library.status(), folders, problems);
      all_mapped = false;
      continue;
    }
    instance.library = std::move(library).value();
    instance.options = check_options(config, instance.library->options(), problems);
    instances.push_back(std::move(instance));
  }
  check_entries(instances, problems);
  std::vector<runtime::GraphNode> nodes;
  for (const PlannedInstance& instance : instances) nodes.push_back(node_of(instance));
  runtime::Problems graph_problems;
  // A plugin that could not be mapped would only be reported again, as what others miss.
  runtime::ServiceGraph graph = runtime::resolve_graph(
      nodes, graph_problems, [&](auto id) { return runtime::providers_text(id, folders); }, all_mapped);
  problems.add_all(graph_problems);
  if (!problems.empty()) {
    const bool only_values = all_mapped && graph_problems.empty();
    return problems.status(only_values ? Code::kInvalidArgument : Code::kFailedPrecondition);
  }
  if (!all_mapped) return instances;
  GenerationPlan plan;
  for (size_t i : graph.order) {
    instances[i].bindings = std::move(graph.bindings[i]);
    for (size_t provider : graph.required[i]) instances[i].required.insert(nodes[provider].name);
    plan.push_back(std::move(instances[i]));
  }
  return plan;
}

}  // namespace atl::kernel
