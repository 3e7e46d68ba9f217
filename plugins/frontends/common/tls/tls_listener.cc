#include "frontends/common/tls/tls_listener.h"

#include <utility>

namespace atl::frontends {

void TlsListener::renew(TlsContext context) noexcept {
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
}

std::string TlsListener::certificate_text() noexcept {
  const std::lock_guard lock(mutex_);
  return context_.certificate_text();
}

std::unique_ptr<TlsChannel> TlsListener::accept(int fd, TlsThread& thread) noexcept {
  OpensslPtr<ssl_st> ssl;
  {
    const std::lock_guard lock(mutex_);
    ssl = context_.accept();
  }
  return TlsChannel::make(fd, std::move(ssl), thread);
}

void TlsListener::note_failure(std::string_view peer, std::string_view why) noexcept {
  failures_.fetch_add(1, std::memory_order_relaxed);
  const int64_t now = clock_.now_ns();
  int64_t next = next_told_ns_.load(std::memory_order_relaxed);
  if (now < next || !next_told_ns_.compare_exchange_strong(next, now + kTellIntervalNs)) return;
  log_.info("TLS with ", peer, " failed: ", why,
            "; further failures are not told of for a minute, there were ", failures(), " since the start");
}

}  // namespace atl::frontends
