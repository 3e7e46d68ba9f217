#include "kernel/lifecycle/plan.h"

#include <algorithm>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/problems.h"
#include "kernel/loader/plugin_file.h"

namespace atl::kernel {
namespace {

Result<LibraryUse> open_library(const InstanceConfig& config, const std::vector<std::string>& folders,
                                PluginLoader& loader) {
  Result<std::string> path = find_plugin_file(config.use, config.file, folders);
  if (!path.ok()) return std::move(path).status();
  Result<std::shared_ptr<PluginLibrary>> library = loader.open(path.value(), config.use);
  if (!library.ok()) return std::move(library).status();
  return LibraryUse(loader, std::move(library).value());
}

void add_line(std::string& lines, std::string_view line) { lines += cat(lines.empty() ? "" : "\n", line); }

GraphNode node_of(const PlannedInstance& instance) {
  GraphNode node;
  node.name = instance.config.name;
  node.use = instance.config.use;
  node.flags = instance.library->descriptor().flags;
  node.provides = instance.library->provides();
  node.needs = instance.library->needs();
  node.named = instance.config.needs;
  return node;
}

}  // namespace

std::vector<std::string> search_path(const Manifest& manifest,
                                     const std::vector<std::string>& default_plugin_path) {
  std::vector<std::string> folders = manifest.server.plugin_path;
  folders.insert(folders.end(), default_plugin_path.begin(), default_plugin_path.end());
  return folders;
}

bool has_new_files(const Manifest& manifest, const std::vector<std::string>& default_plugin_path,
                   const PluginLoader& loader) {
  std::vector<std::string> folders = search_path(manifest, default_plugin_path);
  return std::any_of(manifest.instances.begin(), manifest.instances.end(), [&](const InstanceConfig& config) {
    if (!config.enabled) return false;
    Result<std::string> path = find_plugin_file(config.use, config.file, folders);
    return path.ok() && !loader.has_open(path.value());
  });
}

Result<GenerationPlan> plan_generation(const Manifest& manifest,
                                       const std::vector<std::string>& default_plugin_path,
                                       PluginLoader& loader) {
  std::vector<std::string> folders = search_path(manifest, default_plugin_path);
  std::vector<PlannedInstance> instances;
  std::string problems;
  bool only_options = true;
  bool all_mapped = true;
  for (const InstanceConfig& config : manifest.instances) {
    if (!config.enabled) continue;
    PlannedInstance instance;
    instance.config = config;
    const std::string doing = cat("loading ", instance.text());
    runtime::ThreadNote note(doing.c_str());
    runtime::CallWatch::Call watched(loader.calls(), doing);
    Result<LibraryUse> library = open_library(config, folders, loader);
    if (!library.ok()) {
      add_line(problems, runtime::prefix_lines(cat(instance.text(), ": "), library.status().text()));
      only_options = all_mapped = false;
      continue;
    }
    instance.library = std::move(library).value();
    Result<std::unique_ptr<OptionValues>> options = check_options(config, instance.library->options());
    if (options.ok()) {
      instance.options = std::move(options).value();
    } else {
      add_line(problems, options.status().text());
    }
    instances.push_back(std::move(instance));
  }
  std::vector<GraphNode> nodes;
  for (const PlannedInstance& instance : instances) nodes.push_back(node_of(instance));
  // A plugin that could not be mapped would only be reported again, as what others miss.
  Result<Graph> graph = all_mapped ? resolve_graph(nodes) : Result<Graph>(Graph());
  if (!graph.ok()) {
    add_line(problems, graph.status().message());
    only_options = false;
  }
  if (!problems.empty()) {
    return Status(only_options ? Code::kInvalidArgument : Code::kFailedPrecondition, std::move(problems));
  }
  GenerationPlan plan;
  for (size_t i : graph->order) {
    instances[i].bindings = std::move(graph->bindings[i]);
    for (size_t provider : graph->required[i]) instances[i].required.insert(nodes[provider].name);
    plan.push_back(std::move(instances[i]));
  }
  return plan;
}

}  // namespace atl::kernel
