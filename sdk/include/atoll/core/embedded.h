/// The server inside a program. The shared library libatoll_server.so contains the kernel; a
/// library that opens it (Triton's C API, libtritonserver.so) starts servers through the one
/// function below. Both libraries come from one build, which the build tag makes sure of.
///
///     auto* start = reinterpret_cast<StartEmbedded*>(dlsym(library, kStartEmbeddedSymbol));
///     Status failure;
///     std::unique_ptr<EmbeddedServer> server(start(ATOLL_BUILD_TAG, options, &failure));
///     if (server == nullptr) return failure;
///     auto* catalog = static_cast<ModelCatalog*>(server->service(ModelCatalog::kInterfaceId));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/log_control.h"
#include "atoll/core/status.h"

namespace atl {

/// What a program says about the server that it starts.
struct EmbeddedOptions {
  /// The manifest's file. With an empty path there is no file, and the overrides are the whole
  /// manifest.
  std::string manifest_path;
  /// Keys and values of the manifest, as after --set of the server's own program:
  /// {"plugin.http.address", "127.0.0.1:0"}. Where a key comes twice, the later value counts.
  /// Variables of the environment (ATOLL__SECTION__KEY) count more than any of them.
  std::vector<std::pair<std::string, std::string>> overrides;
  /// Folders that are searched for ROLE/NAME.so, after those of the manifest's own plugin_path.
  std::vector<std::string> plugin_path;
  /// The ids of the interfaces whose services the program wants to use ("atoll.model_catalog/1").
  /// The start fails if the manifest provides one of them not at all.
  std::vector<std::string> services;
  /// Gets the log's records from the first one on, as by LogControl::send_to(). Null: they go where the manifest says.
  std::shared_ptr<LogReceiver> log_receiver;
};

/// A running server with threads of its own. A process may have any number of them at a time. Such
/// a server leaves the signals and the limits of the process alone, reads its manifest once and
/// never reloads. Its log goes where the manifest says.
class EmbeddedServer {
 public:
  /// Ends the server if release() was not called before: it calls end() with the time that the
  /// manifest gives, then release().
  virtual ~EmbeddedServer() = default;

  /// One of the services that EmbeddedOptions::services asked for: a pointer to the interface's
  /// abstract class, valid until release(). Null for any other id. [any]
  virtual void* service(std::string_view interface_id) const noexcept = 0;
  /// Begins to end the server and returns at once: nothing new is accepted, and what was accepted
  /// is finished. Only the first call counts. [any]
  /// \param timeout_ns  how long the accepted work may take, in nanoseconds; negative:
  /// `drain_timeout` of the manifest
  virtual void end(int64_t timeout_ns) noexcept = 0;
  /// Lets go of the services, waits until the server has ended, and joins its control thread. The
  /// caller has called end() before, makes sure that no call of a service runs any more, and calls
  /// this from one thread.
  /// Errors: UNAVAILABLE if what was accepted did not end in time. The server's remains then stay
  /// in memory as long as the process, because code of the server may still run.
  virtual Status release() noexcept = 0;
};

/// The name under which dlsym() finds the function of the type StartEmbedded.
inline constexpr const char* kStartEmbeddedSymbol = "atoll_start_embedded_v1";

/// Starts a server, and returns when all its plugins are active or the start has failed. [any]
/// \param build_tag  ATOLL_BUILD_TAG of the caller
/// \param options  read during the call; nothing of them is kept by reference
/// \param failure  success, or why there is no server; never null
/// \returns a server that the caller owns and deletes; null on failure, of which nothing is left
/// behind.
/// Errors: FAILED_PRECONDITION if the caller comes from another build, or the plugins do not fit
/// together; INVALID_ARGUMENT if the manifest is wrong; whatever the start of a plugin failed with.
using StartEmbedded = EmbeddedServer*(const char* build_tag, const EmbeddedOptions& options, Status* failure);

}  // namespace atl
