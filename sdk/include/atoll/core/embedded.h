/// The server inside a program: what libatoll_server.so, which has the kernel, gives to the library that
/// opens it. Both come from one build.
///
///     auto* start = reinterpret_cast<StartEmbedded*>(dlsym(library, kStartEmbeddedSymbol));
///     std::unique_ptr<EmbeddedServer> server(start(ATOLL_BUILD_TAG, options, &failure));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"

namespace atl {

struct EmbeddedOptions {
  std::string manifest_path;  ///< empty: the overrides stand alone
  /// Keys and values of the manifest, as after --set; the later of two wins, and what the environment says
  /// (ATOLL__SECTION__KEY) over them.
  std::vector<std::pair<std::string, std::string>> overrides;
  std::vector<std::string> plugin_path;  ///< folders searched for ROLE/NAME.so after the manifest's own
  /// Interfaces whose services the program holds, by id; a manifest that does not provide one is a failure.
  std::vector<std::string> services;
};

/// A running server with threads of its own; any number of them at a time. It leaves the signals and the
/// limits of the process alone, and its manifest is read once. Where its log goes says the manifest.
class EmbeddedServer {
 public:
  /// Ends the server at once, with the time that the manifest gives, if that was not done before.
  virtual ~EmbeddedServer() = default;

  /// One of the services that were asked for, until release(); null for any other. [any]
  virtual void* service(std::string_view interface_id) const noexcept = 0;
  /// Begins to end the server: nothing new is accepted, what was accepted is finished. The first call counts.
  /// [any] \param timeout_ns  for what was accepted; negative: what the manifest says
  virtual void end(int64_t timeout_ns) noexcept = 0;
  /// After end(), once no call of a service runs any more: lets go of the services and waits for the end. One
  /// thread. Errors: UNAVAILABLE what was accepted did not end in time; the server's remains then stay in
  /// memory, as long as the process, because code of it may still run.
  virtual Status release() noexcept = 0;
};

inline constexpr const char* kStartEmbeddedSymbol = "atoll_start_embedded_v1";

/// Starts a server and returns when its plugins are active. [any]
/// \param build_tag  ATOLL_BUILD_TAG of the caller
/// \returns the caller's; null: `failure` says why, and nothing is left. Errors: FAILED_PRECONDITION another build,
/// a plugin or the graph of plugins; INVALID_ARGUMENT the manifest; those of plugins.
using StartEmbedded = EmbeddedServer*(const char* build_tag, const EmbeddedOptions& options, Status* failure);

}  // namespace atl
