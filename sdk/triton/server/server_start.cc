#include <dlfcn.h>

#include <cstdlib>

#include "atoll/core/log_control.h"
#include "atoll/core/startup.h"
#include "atoll/models/model.h"
#include "server/process_log.h"
#include "server/program_server.h"
#include "server/server_manifest.h"

namespace atl::triton {
namespace {

namespace fs = std::filesystem;

/// The folder of this library.
fs::path library_folder() {
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void*>(&TRITONSERVER_ServerNew), &self) == 0) return {};
  std::error_code error;
  fs::path file = fs::canonical(self.dli_fname, error);
  return (error ? fs::path(self.dli_fname) : file).parent_path();
}

/// The manifest in the place of the one that is made; empty: none is named.
std::string named_manifest(const TRITONSERVER_ServerOptions& options) {
  if (auto settings = options.backend_settings.find("atoll"); settings != options.backend_settings.end()) {
    if (auto manifest = settings->second.find("manifest"); manifest != settings->second.end()) {
      return manifest->second;
    }
  }
  const char* variable = std::getenv("ATOLL_MANIFEST");
  return variable == nullptr ? "" : variable;
}

Status find_start(const fs::path& folder, StartEmbedded** start) {
  const fs::path file = folder / "libatoll_server.so";
  // Not closed: it stays mapped anyway.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, kStartEmbeddedSymbol);
  if (symbol == nullptr) {
    const char* why = ::dlerror();
    return internal_error("the server's library cannot be used: ", why == nullptr ? file.c_str() : why);
  }
  *start = reinterpret_cast<StartEmbedded*>(symbol);
  return {};
}

}  // namespace

Result<std::unique_ptr<EmbeddedServer>> start_embedded(const TRITONSERVER_ServerOptions& options) {
  const fs::path folder = library_folder();
  EmbeddedOptions made;
  made.plugin_path = {(folder / "plugins").string()};
  made.services = {std::string(TRITONSERVER_Server::kInterfaceId), std::string(ModelCatalog::kInterfaceId),
                   std::string(Startup::kInterfaceId), std::string(LogControl::kInterfaceId)};
  made.log_receiver = ProcessLog::get().choices().receiver();
  made.manifest_path = named_manifest(options);
  if (made.manifest_path.empty()) {
    TRITONSERVER_ServerOptions chosen = options;
    ProcessLog::get().choices().apply_to(chosen);
    auto keys = manifest_of(chosen, made.plugin_path.front());
    if (!keys.ok()) return std::move(keys).status();
    made.overrides.assign(keys->begin(), keys->end());
  }
  StartEmbedded* start = nullptr;
  ATOLL_RETURN_IF_ERROR(find_start(folder, &start));
  Status failure;
  std::unique_ptr<EmbeddedServer> server(start(ATOLL_BUILD_TAG, made, &failure));
  if (server == nullptr) return failure;
  return server;
}

}  // namespace atl::triton
