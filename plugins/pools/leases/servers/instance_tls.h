/// TLS of calls to instances that other machines run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/core/host.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "atoll/lib/file_watch.h"
#include "atoll/pools/remote_models.h"

namespace atl::pools {

/// Paths of PEM files, as the options name them.
struct InstanceTlsSettings {
  bool use_ssl = false;
  std::string root_cert;
  std::string client_cert;
  std::string client_key;
  bool on_loopback = false;  ///< also where calls stay on this machine
  std::string server_name;   ///< of the instances' certificates; empty: the address of each
  int64_t poll_interval_ns = 0;

  /// Errors: INVALID_ARGUMENT a file that is needed is not named.
  static Result<InstanceTlsSettings> read(const Options& options);
};

/// What the files hold; null: there is no TLS. Errors: INVALID_ARGUMENT a file cannot be read, is no use, or is no longer valid; the
/// text names the option and the file, and nothing of what is in it.
Result<std::shared_ptr<const RemoteTls>> read_instance_tls(const InstanceTlsSettings& settings);

/// Whether calls to that host stay on this machine: an address of the loopback, or "localhost".
bool is_loopback(const std::string& host) noexcept;

/// The files are read at the start, whenever the manifest is applied, and when they have changed; what is no use changes nothing.
class InstanceTls {
 public:
  explicit InstanceTls(InstanceTlsSettings settings) : settings_(std::move(settings)) {}
  InstanceTls(const InstanceTls&) = delete;
  InstanceTls& operator=(const InstanceTls&) = delete;

  /// Errors: as read_instance_tls(); those of FileWatch::start(). [control]
  Status start(Host& host);
  /// The files are not looked at any more. [control]
  void stop() noexcept { watch_.reset(); }
  /// For connections from now on; null: without TLS. [any]
  std::shared_ptr<const RemoteTls> of(const HostPort& address) const noexcept;

 private:
  void renew(Host& host);

  const InstanceTlsSettings settings_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::shared_ptr<const RemoteTls> rules_;
  std::optional<FileWatch> watch_;  ///< [control]
};

}  // namespace atl::pools
