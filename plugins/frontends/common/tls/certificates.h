/// The TLS files of one listener: read at start, whenever the manifest is applied, and when they have changed.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "atoll/core/host.h"
#include "atoll/lib/file_watch.h"
#include "frontends/common/tls/tls_listener.h"
#include "frontends/common/tls/tls_settings.h"

namespace atl::frontends {

/// What the TLS files of the options make. \param digest  of what the files hold
/// Errors: INVALID_ARGUMENT files that cannot be read or do not belong together, by name; ciphers.
Result<TlsContext> read_certificates(const TlsSetup& setup, std::string* digest);

/// What is wrong with the options of TLS, each by itself, and then with all together. \param setup  null: they could not
/// be read
void check_tls(const TlsSetup* setup, OptionCheck& check);

/// [control], but for what the files are looked at by.
class Certificates {
 public:
  /// Null: the setup has no TLS. Errors: as read_certificates(); those of ExecutorFactory::create().
  static Result<std::unique_ptr<Certificates>> open(Host& host, TlsSetup setup);
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  ~Certificates() = default;

  /// For the transport.
  TlsListener& listener() noexcept { return *listener_; }

 private:
  Certificates(Host& host, TlsSetup setup);
  Status start();
  /// New connections get what the files hold now. If that is no use, all stays as it was, and the log says so.
  void renew() noexcept;

  Host& host_;
  const TlsSetup setup_;
  std::mutex mutex_;  ///< of start() and renew()
  std::string digest_;
  std::unique_ptr<TlsListener> listener_;
  FileWatch watch_;  ///< ends first
};

}  // namespace atl::frontends
