/// Starts and ends the servers of pools, by an engine of its own: child processes
/// (launchers/process), or a cluster's scheduler (launchers/slurm, launchers/kubernetes). Service "atoll.launcher/1";
/// pools/leases uses it, and keeps the pools.
///
///     class Mine final : public Launcher {
///       void launch(const ServerSpec& server, LauncherListener& listener) noexcept override {
///         executor_->post(make_task([this, server, to = &listener] {
///           Result<ServerAddress> address = start(server);
///           if (!address.ok()) return to->server_ended(server.id, std::move(address).status());
///           to->server_running(server.id, *address);
///         }));
///       }
///       ...
///
/// The suite atoll/testing/conformance/launcher.h checks a launcher.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"

namespace atl {

/// A server that is wanted. A launcher copies what it keeps.
struct ServerSpec {
  /// The name by which the launcher and its engine know the server, also after this process was
  /// started anew: letters, digits and '-', at most 128 bytes. No other server ever has the same
  /// id.
  std::string id;
  /// The pool's name, for people: in names of jobs and of log files.
  std::string pool;
  /// The server's number in the pool, likewise for people.
  uint32_t instance = 0;
  /// What is executed: the name of a runtime in the launcher's options; empty: the launcher's
  /// default.
  std::string runtime;
  /// The directory of models that the server loads on request. It loads no model at its start, and
  /// has no other repository.
  std::string repository;
  /// Directories into which links in the repository lead. The server has to be able to read them.
  std::vector<std::string> sources;
  /// Logical CPUs that the server has for itself; 0: it shares whatever there is.
  uint32_t cpus = 0;
  /// Devices that the server has for itself; 0: none are reserved.
  uint32_t gpus = 0;
  /// Memory of the host that the server must not exceed; 0: no limit.
  uint64_t memory_bytes = 0;
  /// A secret. Whoever asks the server for model control, trace or log settings has to show it, in
  /// kServerKeyHeader. Nobody else gets to know it: a launcher that can hands it over in the
  /// server's environment, which other users of the machine cannot read, and not on a command line.
  /// Printable, without blanks and quotes. Empty: nobody has to show a key.
  std::string key;
};

/// The name under which the key is shown: a header of HTTP calls, and behind Triton's prefix for
/// restricted protocols ("triton-grpc-protocol-") the metadata of gRPC calls.
inline constexpr std::string_view kServerKeyHeader = "atoll-key";

/// Where a server listens. It speaks KServe's V2 protocol with the extension for model control.
struct ServerAddress {
  HostPort http;
  /// Empty host: the server has no gRPC.
  HostPort grpc;
};

/// Whoever wants the servers. A launcher calls both functions from any thread, for one server one
/// after the other and in this order. It may hold a lock of its own meanwhile, so they must not
/// call the launcher; they post what they have to do to another thread. [any]
class LauncherListener {
 public:
  /// The server has an address; whether it answers is for the listener to find out. At most once
  /// for each launch() and adopt().
  virtual void server_running(std::string_view id, const ServerAddress& address) noexcept = 0;
  /// There is no such server any more, or there never was one. Called once for each launch() and
  /// adopt(), and the last that is said of the server.
  /// \param reason  success if end() asked for the end. Otherwise RESOURCE_EXHAUSTED if the engine
  /// has no room for the server now; INVALID_ARGUMENT if it never will have; NOT_FOUND if adopt()
  /// found none; UNAVAILABLE if the server ended by itself, or its engine lost it
  virtual void server_ended(std::string_view id, Status reason) noexcept = 0;

 protected:
  ~LauncherListener() = default;
};

/// One engine. None of the functions waits for the engine.
class Launcher {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.launcher/1";

  /// Starts a server. Returns at once; the listener may be called before that. The listener has to
  /// live until server_ended() or forget(). [any]
  virtual void launch(const ServerSpec& server, LauncherListener& listener) noexcept = 0;
  /// Finds a server that was launched before, perhaps by an earlier process, and tells its listener
  /// of it as launch() does. Nothing is started: where there is no such server, server_ended() says
  /// NOT_FOUND. [any]
  virtual void adopt(const ServerSpec& server, LauncherListener& listener) noexcept = 0;
  /// Ends a server, first by asking it, then by force; server_ended() says when. Does nothing for
  /// an id that is not known. [any]
  virtual void end(std::string_view id) noexcept = 0;
  /// When this returns, the listener is not called any more. Its servers stay, for adopt(), where
  /// the engine can keep servers without this process. Must not be called from inside one of the
  /// listener's functions. [control]
  virtual void forget(LauncherListener& listener) noexcept = 0;

 protected:
  ~Launcher() = default;
};

}  // namespace atl
