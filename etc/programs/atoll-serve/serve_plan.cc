#include "serve_plan.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/default_manifest.h"
#include "atoll/runtime/plugin_file.h"
#include "atoll/runtime/plugin_folders.h"

namespace atl::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOpenAi = "frontends/openai";

bool is_there(const ServeContext& context, std::string_view plugin) {
  std::error_code ignored;
  return fs::exists(context.plugins / cat(plugin, ".so"), ignored);
}

/// Errors: NOT_FOUND, with how to get it.
Status need(const ServeContext& context, std::string_view plugin) {
  return runtime::find_plugin_file(plugin, "", {context.plugins.string()}).status().clone();
}

Status set_control(const ServeOptions& options, const ServeContext& context, runtime::ManifestKeys& keys) {
  std::string mode = options.control_mode;
  if (mode.empty()) mode = is_there(context, "control/poll") ? "poll" : "none";
  const std::string plugin = cat("control/", mode);
  if (Status there = need(context, plugin); !there.ok())
    return std::move(there.note(cat("--model-control-mode=", mode)));
  keys.set("plugin.control.use", plugin);
  if (mode == "poll") keys.set("plugin.control.interval", cat(options.poll_seconds, "s"));
  for (const std::string& model : options.load_models) keys.add("plugin.control.load_model", model);
  return {};
}

/// Every backend that is installed, but for those that need settings of their own.
void set_backends(const ServeContext& context, runtime::ManifestKeys& keys) {
  const std::string folder = context.plugins.string();
  for (const std::string& plugin : runtime::plugin_names(std::span(&folder, 1))) {
    constexpr std::string_view kPrefix = "backends/";
    if (!plugin.starts_with(kPrefix) || plugin == "backends/triton" || plugin == "backends/cuda") continue;
    keys.set(cat("plugin.", plugin.substr(kPrefix.size()), ".use"), plugin);
  }
  if (!is_there(context, "memory/cuda")) return;
  keys.set("plugin.gpus.use", "memory/cuda");
  if (is_there(context, "memory/pinned")) keys.set("plugin.pinned.use", "memory/pinned");
  if (is_there(context, "backends/cuda")) keys.set("plugin.cuda.use", "backends/cuda");
}

/// Errors: NOT_FOUND a file that is not there; what is in them the server judges.
Status set_tls(const ServeOptions& options, runtime::ManifestKeys& keys) {
  if (options.tls_cert.empty()) return {};
  for (const std::string* file : {&options.tls_cert, &options.tls_key}) {
    std::error_code error;
    if (!fs::is_regular_file(*file, error))
      return not_found(file == &options.tls_cert ? "--tls-cert" : "--tls-key", ": found no file '", *file,
                       "'");
  }
  for (const ServeEndpoint& endpoint : options.endpoints) {
    const std::string plugin = cat("plugin.", endpoint.instance);
    keys.set(cat(plugin, ".use_ssl"), true);
    keys.set(cat(plugin, ".server_cert"), fs::absolute(options.tls_cert).string());
    keys.set(cat(plugin, ".server_key"), fs::absolute(options.tls_key).string());
  }
  return {};
}

void set_log(const ServeOptions& options, runtime::ManifestKeys& keys) {
  const char* level = options.log_verbose == 1  ? "debug"
                      : options.log_verbose > 1 ? "trace"
                      : options.log_info        ? "info"
                      : options.log_warning     ? "warning"
                                                : "error";
  keys.set("log.level", level);
  if (!options.log_file.empty()) keys.set("log.file", options.log_file);
}

}  // namespace

ServeContext serve_context_of(const fs::path& program) {
  const fs::path bin = program.parent_path(), root = bin.parent_path();
  return {bin / "atoll", lib::default_manifest(root), root / "lib/atoll/plugins"};
}

bool has_openai_api(const ServeOptions& options, const ServeContext& context) {
  return options.http().allowed && is_there(context, kOpenAi);
}

std::string backend_refusal(const ServeContext& context, std::string_view backend) {
  const Status there = need(context, cat("backends/", backend));
  return there.ok() ? std::string() : cat("it needs the backend ", backend, ": ", there.message());
}

std::vector<std::string> linked_folders(const Discovery& found) {
  std::set<std::string> folders = {found.folder.string()};
  for (const FolderLink& folder : found.folders) folders.insert(folder.target.string());
  for (const LooseModel& model : found.loose) {
    for (const FolderLink& file : model.files) {
      std::error_code ignored;
      const bool is_folder = fs::is_directory(file.target, ignored);
      folders.insert((is_folder ? file.target : file.target.parent_path()).string());
    }
  }
  std::erase_if(folders, [](const std::string& folder) { return !is_utf8(folder); });
  return {folders.begin(), folders.end()};
}

Result<ServePlan> plan_serve(ServeOptions& options, const ServeContext& context, const Discovery& found,
                             const std::vector<fs::path>& repositories) {
  ServePlan plan;
  runtime::ManifestKeys& keys = plan.keys;
  for (const fs::path& repository : repositories) keys.add("plugin.repository.paths", repository.string());
  keys.set("plugin.repository.linked_paths", linked_folders(found));
  if (!options.config_name.empty()) keys.set("plugin.repository.config_name", options.config_name);
  if (!options.completes_configurations) keys.set("plugin.models.auto_complete_config", false);
  ATOLL_RETURN_IF_ERROR(set_control(options, context, keys));
  set_backends(context, keys);
  set_log(options, keys);
  ATOLL_RETURN_IF_ERROR(set_tls(options, keys));
  if (has_openai_api(options, context)) keys.set("plugin.openai.use", kOpenAi);
  for (ServeEndpoint& endpoint : options.endpoints) {
    if (endpoint.address.empty()) endpoint.address = options.http().address;
  }
  auto taken = choose_ports(options.endpoints);
  if (!taken.ok()) return std::move(taken).status();
  plan.remarks = std::move(taken).value();
  for (const ServeEndpoint& endpoint : options.endpoints) {
    for (runtime::ManifestKeys* both : {&keys, &plan.endpoints}) {
      both->set(cat("plugin.", endpoint.instance, ".enabled"), endpoint.allowed);
      if (endpoint.allowed) both->set(cat("plugin.", endpoint.instance, ".address"), endpoint.text());
    }
  }
  return plan;
}

}  // namespace atl::serve
