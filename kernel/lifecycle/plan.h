/// A generation as it shall be: every enabled plugin mapped, its options and needs checked, nothing of it
/// called but its own check of the options.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "atoll/runtime/manifest_control.h"
#include "atoll/runtime/service_graph.h"
#include "kernel/loader/plugin_loader.h"
#include "kernel/manifest/manifest.h"
#include "kernel/manifest/option_values.h"

namespace atl::kernel {

struct PlannedInstance {
  InstanceConfig config;
  LibraryUse library;
  std::unique_ptr<OptionValues> options;
  std::map<std::string, std::string> bindings;  ///< interface id -> instance, for acquire() without a name
  std::set<std::string> required;               ///< instances that required needs are bound to
  std::string text() const { return runtime::plugin_text(config.name, config.use); }
  runtime::DescribedInstance described() const {
    return runtime::describe_instance(config.name, config.use, library->options(), *options);
  }
};

/// In start order, providers first. Of a manifest in which an instance has no `use`, and nothing else is wrong: in the
/// order of their names, and without bindings.
using GenerationPlan = std::vector<PlannedInstance>;

/// \param problems  what is wrong with the manifest already
/// Errors: these and every problem found, one line each. INVALID_ARGUMENT if the manifest's keys and values are
/// all that is wrong; FAILED_PRECONDITION if a plugin or the graph is.
Result<GenerationPlan> plan_generation(const Manifest& manifest,
                                       const std::vector<std::string>& default_plugin_path,
                                       PluginLoader& loader, runtime::Problems problems = {});

/// The enabled instances whose files are not open yet, so that no code of them has run.
std::vector<std::string> new_instances(const Manifest& manifest,
                                       const std::vector<std::string>& default_plugin_path,
                                       const PluginLoader& loader);

/// Where plugins are searched: the manifest's folders, then the default ones.
std::vector<std::string> search_path(const Manifest& manifest,
                                     const std::vector<std::string>& default_plugin_path);

}  // namespace atl::kernel
