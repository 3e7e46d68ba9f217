/// The TLS files of one listener: read at start, whenever the manifest is applied, and when they have changed.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "atoll/core/events.h"
#include "atoll/core/executor.h"
#include "atoll/core/host.h"
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
  ~Certificates();

  /// For the transport.
  TlsListener& listener() noexcept { return *listener_; }

 private:
  /// Long enough for whoever exchanges one file after the other.
  static constexpr int64_t kQuietNs = 200 * kNsPerMs;

  struct OnServerState {
    Certificates& certificates;
    void operator()(const ServerStateChanged& event) const noexcept {
      if (event.state == ServerStateChanged::State::kActive) certificates.renew();
    }
  };

  Certificates(Host& host, TlsSetup setup) : host_(host), setup_(std::move(setup)) {}
  Status start();
  /// New connections get what the files hold now. If that is no use, all stays as it was, and the log says so. [any]
  void renew() noexcept;
  /// Where the files are and when they were written; links are followed.
  std::string marks() const;
  void look() noexcept;
  void look_later(int64_t after_ns) noexcept;

  Host& host_;
  const TlsSetup setup_;
  std::mutex mutex_;  ///< of renew()
  std::string digest_;
  std::unique_ptr<TlsListener> listener_;
  std::string seen_;       ///< the marks of what was read
  std::string last_seen_;  ///< of the last look
  Subscription<ServerStateChanged, OnServerState> state_changed_{OnServerState{*this}};
  SerialExecutorPtr executor_;  ///< looks
};

}  // namespace atl::frontends
