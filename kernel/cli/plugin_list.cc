#include "kernel/cli/plugin_list.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "atoll/runtime/plugin_folders.h"
#include "kernel/lifecycle/plan.h"
#include "kernel/loader/plugin_loader.h"

namespace atl::kernel {

Status list_plugins(const ServerArguments& arguments, LogSink& sink,
                    const std::function<void(std::span<const atoll_plugin_v1_t* const>)>& render) {
  runtime::Problems wrong;
  Result<Manifest> manifest = read_manifest(arguments.manifest_path, arguments.overrides, wrong);
  if (!manifest.ok()) return std::move(manifest).status();
  ATOLL_RETURN_IF_ERROR(wrong.status());
  std::vector<std::string> files =
      runtime::plugin_files(search_path(manifest.value(), arguments.default_plugin_path));
  for (const InstanceConfig& config : manifest->instances) {
    if (!config.file.empty()) files.push_back(config.file);
  }
  std::unique_ptr<InstanceLog> log = sink.for_instance("kernel");
  PluginLoader loader(*log);
  std::vector<LibraryUse> libraries;
  std::string problems;
  for (const std::string& file : files) {
    Result<std::shared_ptr<PluginLibrary>> library = loader.open(file, {});
    if (library.ok()) {
      libraries.emplace_back(loader, std::move(library).value());
    } else {
      problems += cat(problems.empty() ? "" : "\n", library.status().text());
    }
  }
  std::vector<const atoll_plugin_v1_t*> plugins;
  for (const LibraryUse& library : libraries) plugins.push_back(&library->descriptor());
  std::sort(plugins.begin(), plugins.end(), [](const auto* a, const auto* b) {
    return std::string_view(a->name) < std::string_view(b->name);
  });
  plugins.erase(std::unique(plugins.begin(), plugins.end()), plugins.end());
  render(plugins);
  return problems.empty() ? Status() : Status(Code::kFailedPrecondition, std::move(problems));
}

}  // namespace atl::kernel
