// One caller of atl::Model inside the server's own process: the identity model, 16 bytes, with the plugins that
// in_process_bench's server runs, and nothing of the C API.
//     model_bench [FOLDER of libatoll_server.so]
// Prints quantiles of the time from the call until the request is answered and released, and the allocations of all that,
// three times. Budget: 1 us at the median, no allocation.
#include <dlfcn.h>

#include <memory>

#include "atoll/core/embedded.h"
#include "client.h"
#include "one_caller.h"

namespace atl::bench {
namespace {

std::unique_ptr<EmbeddedServer> start_server(const std::filesystem::path& folder,
                                             const std::filesystem::path& models) {
  void* library = ::dlopen((folder / "libatoll_server.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, kStartEmbeddedSymbol);
  if (symbol == nullptr) fail(::dlerror());
  EmbeddedOptions options;
  options.plugin_path = {(folder / "plugins").string()};
  options.services = {std::string(ModelCatalog::kInterfaceId)};
  options.overrides = {{"log.level", "\"error\""},
                       {"plugin.repository.paths", "[\"" + models.string() + "\"]"}};
  for (auto [instance, plugin] : {std::pair("repository", "repositories/filesystem"),
                                  {"configs", "configs/pbtxt"},
                                  {"models", "models/catalog"},
                                  {"control", "control/none"},
                                  {"default", "schedulers/default"},
                                  {"host", "memory/host"},
                                  {"identity", "backends/identity"}}) {
    options.overrides.emplace_back(cat("plugin.", instance, ".use"), cat("\"", plugin, "\""));
  }
  Status failure;
  std::unique_ptr<EmbeddedServer> server(
      reinterpret_cast<StartEmbedded*>(symbol)(ATOLL_BUILD_TAG, options, &failure));
  if (server == nullptr) fail(failure.text());
  return server;
}

/// The models are loaded after the server has started.
ModelRef wait_for_model(ModelCatalog& catalog) {
  for (;;) {
    Result<ModelRef> found = catalog.acquire("m", ModelCatalog::kLatest);
    if (found.ok()) return std::move(found).value();
  }
}

void run(const std::filesystem::path& folder) {
  const IdentityRepository models("identity");
  auto server = start_server(folder, models.path);
  auto* catalog = static_cast<ModelCatalog*>(server->service(ModelCatalog::kInterfaceId));
  ModelRef model = wait_for_model(*catalog);
  Client client(16);
  if (allocations() == 0) std::printf("allocations are not counted\n");
  for (int round = 0; round < 3; ++round) {
    measure([&] {
      if (client.infer(*model.get())) return;
      while (!client.is_answered()) {
      }
    });
  }
  model.reset();
  server->end(-1);
  if (Status ended = server->release(); !ended.ok()) fail(ended.text());
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) { atl::bench::run(argc > 1 ? argv[1] : ATOLL_FOLDER); }
