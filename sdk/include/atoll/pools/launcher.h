/// Starts and ends the servers of pools, by an engine of its own: child processes, a cluster's scheduler.
/// Service "atoll.launcher/1"; used by the plugin that keeps the pools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"

namespace atl {

/// A server that is wanted.
struct ServerSpec {
  /// By which the launcher and its engine know it, also after this process has been started anew: letters,
  /// digits and '-', at most 128 bytes. No other server ever has it.
  std::string id;
  std::string pool;        ///< for people: names of jobs, log files
  uint32_t instance = 0;   ///< its number in the pool, likewise
  std::string runtime;     ///< profile or image; empty: the launcher's default
  std::string repository;  ///< directory of models that it serves on request; no others at its start
  std::vector<std::string> sources;  ///< directories that links in there lead into
  uint32_t cpus = 0;                 ///< logical cores that it has for itself; 0: whatever is there
  uint32_t gpus = 0;                 ///< devices, likewise
  uint64_t memory_bytes = 0;         ///< that it must not exceed; 0: no limit
  /// What whoever asks for model control, trace or log settings has to show, as kServerKeyHeader; nobody else gets to know it, so
  /// it is not on a command line where there is another way. Printable, without blanks and quotes. Empty: nobody has to show any.
  std::string key;
};

/// The header of HTTP calls, and behind Triton's prefix for restricted protocols the metadata of gRPC calls.
inline constexpr std::string_view kServerKeyHeader = "atoll-key";

/// Where a server listens. It speaks the V2 protocol with model control.
struct ServerAddress {
  HostPort http;
  HostPort grpc;  ///< no host: it has no gRPC
};

/// Who wants the servers. [any] for both; in this order, by id.
class LauncherListener {
 public:
  /// It has an address; whether it answers is for the listener to find out. Once at most.
  virtual void server_running(std::string_view id, const ServerAddress& address) noexcept = 0;
  /// There is no such server any more, or there never was one. Once for each launch() and adopt(), and the last word.
  /// \param reason  of what was not asked for by end(): RESOURCE_EXHAUSTED the engine has no room for it;
  /// INVALID_ARGUMENT it never will; NOT_FOUND adopt() found none; UNAVAILABLE it ended by itself, or its engine lost it
  virtual void server_ended(std::string_view id, Status reason) noexcept = 0;

 protected:
  ~LauncherListener() = default;
};

class Launcher {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.launcher/1";

  /// Starts a server. Returns at once; the listener may be called before that. [any]
  virtual void launch(const ServerSpec& server, LauncherListener& listener) noexcept = 0;
  /// The same, of a server that was launched before, maybe by an earlier process: nothing is started. [any]
  virtual void adopt(const ServerSpec& server, LauncherListener& listener) noexcept = 0;
  /// Ends a server; server_ended() says when. Does nothing for one that is not there. [any]
  virtual void end(std::string_view id) noexcept = 0;
  /// The listener is not called any more when this returns. Its servers stay, for adopt(), where the engine can keep
  /// servers without this process. Not from inside one of its functions. [control]
  virtual void forget(LauncherListener& listener) noexcept = 0;

 protected:
  ~Launcher() = default;
};

}  // namespace atl
