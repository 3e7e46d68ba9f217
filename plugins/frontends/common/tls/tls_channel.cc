#include "frontends/common/tls/tls_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::frontends {
namespace {

/// As ERR_clear_error(), which takes as long as a tenth of a record where there are none.
void clear_errors() noexcept {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

/// What OpenSSL calls.
struct TlsCallbacks {
  static int read(BIO* bio, char* to, size_t size, size_t* got) {
    auto& channel = *static_cast<TlsChannel*>(BIO_get_data(bio));
    std::span<const uint8_t>& from = channel.received_;
    BIO_clear_retry_flags(bio);
    if (from.empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    *got = std::min(size, from.size());
    if (!channel.is_good_start(from.first(*got))) return 0;
    std::memcpy(to, from.data(), *got);
    from = from.subspan(*got);
    return 1;
  }
  static int write(BIO* bio, const char* bytes, size_t size, size_t* taken) {
    BIO_clear_retry_flags(bio);
    if (!static_cast<TlsChannel*>(BIO_get_data(bio))->thread_.sent.append(bytes, size)) return 0;
    *taken = size;
    return 1;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static void on_message(int sent, int, int type, const void*, size_t, SSL*, void* channel) {
    if (sent == 0 && type == SSL3_RT_HANDSHAKE) ++static_cast<TlsChannel*>(channel)->late_messages_;
  }

  /// Null: there was no memory for it.
  static const BIO_METHOD* methods() {
    static const struct Methods {
      Methods() : made(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "connection")) {
        if (made == nullptr) return;
        BIO_meth_set_read_ex(made, read);
        BIO_meth_set_write_ex(made, write);
        BIO_meth_set_ctrl(made, control);
      }
      ~Methods() { BIO_meth_free(made); }
      BIO_METHOD* made;
    } kMethods;
    return kMethods.made;
  }
};

std::unique_ptr<TlsChannel> TlsChannel::make(int fd, OpensslPtr<SSL> ssl, TlsThread& thread) noexcept {
  const BIO_METHOD* methods = TlsCallbacks::methods();
  BIO* bio = ssl == nullptr || methods == nullptr ? nullptr : BIO_new(methods);
  if (bio == nullptr || !thread.received.reserve(TlsThread::kReceiveBytes) ||
      !thread.record.reserve(TlsThread::kRecordBytes)) {
    BIO_free(bio);
    return nullptr;
  }
  std::unique_ptr<TlsChannel> channel(new TlsChannel(fd, std::move(ssl), thread));
  BIO_set_data(bio, channel.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(channel->ssl_.get(), bio, bio);
  SSL_set_msg_callback(channel->ssl_.get(), TlsCallbacks::on_message);
  SSL_set_msg_callback_arg(channel->ssl_.get(), channel.get());
  return channel;
}

TlsChannel::~TlsChannel() {
  if (!open_ || broken_) {
    thread_.sent.clear();  // what it has encrypted last is nobody else's
    return;
  }
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  (void)send();
}

bool TlsChannel::shake_hands() noexcept {
  if (!receive()) return false;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    if (SSL_is_server(ssl_.get()) == 1) client_ = verified_client(ssl_.get());
    open_ = true;
    late_messages_ = 0;
  } else {
    fail(result);
  }
  // What went wrong is an alert for the client.
  return send() >= 0 && !ended_;
}

// Judged when the head is complete, which is before OpenSSL looks at it.
bool TlsChannel::is_good_start(std::span<const uint8_t> bytes) noexcept {
  if (head_size_ == kHelloHeadBytes) return true;
  const size_t part = std::min(bytes.size(), kHelloHeadBytes - head_size_);
  std::memcpy(head_ + head_size_, bytes.data(), part);
  head_size_ += part;
  if (head_size_ < kHelloHeadBytes || head_[0] != SSL3_RT_HANDSHAKE) return true;
  const size_t record = size_t{head_[3]} << 8 | head_[4];
  const size_t hello = size_t{head_[6]} << 16 | size_t{head_[7]} << 8 | head_[8];
  if (record >= SSL3_HM_HEADER_LENGTH && hello <= kMostClientHello) return true;
  failure_ = "the first message is too large";
  return false;
}

bool TlsChannel::receive() noexcept {
  if (!kept_.empty()) {
    std::memcpy(thread_.received.data(), kept_.data(), kept_.size());
    received_ = {thread_.received.data(), kept_.size()};
    kept_ = {};
    return true;
  }
  const ssize_t got = ::recv(fd_, thread_.received.data(), TlsThread::kReceiveBytes, 0);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  received_ = {thread_.received.data(), static_cast<size_t>(got)};
  return got != 0;
}

bool TlsChannel::has_rest() const noexcept { return !kept_.empty() || SSL_pending(ssl_.get()) > 0; }

void TlsChannel::keep_rest() noexcept {
  if (received_.empty()) return;
  kept_.assign(received_.begin(), received_.end());
  received_ = {};
}

size_t TlsChannel::read(std::span<uint8_t> room) noexcept {
  size_t got = 0;
  // Without anything to decrypt OpenSSL would only say so, and make room for it before.
  while (!ended_ && got < room.size() && (!received_.empty() || SSL_has_pending(ssl_.get()) == 1)) {
    clear_errors();
    size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), room.data() + got, room.size() - got, &bytes);
    if (result != 1) {
      fail(result);
      break;
    }
    got += bytes;
    late_messages_ = 0;
  }
  if (late_messages_ > kMostLateMessages) {
    failure_ = "too many messages of handshakes";
    ended_ = broken_ = true;
  }
  if (send() < 0) ended_ = true;
  return got;
}

void TlsChannel::fail(int result) noexcept {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  ended_ = true;
  if (error == SSL_ERROR_ZERO_RETURN) return;
  broken_ = true;
  if (!open_ && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) speaks_plain_http_ = true;
  const std::string why = take_openssl_error();
  if (failure_.empty()) failure_ = why;
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) failure_ += cat(": ", X509_verify_cert_error_string(verified));
}

// Pieces that fill a record go there from where they lie; smaller ones are put together.
bool TlsChannel::encrypt(std::span<const iovec> pieces, size_t* taken) noexcept {
  BodyBuffer& record = thread_.record;
  record.clear();
  auto write = [&](std::span<const uint8_t> bytes) {
    if (!write_record(bytes)) return false;
    *taken += bytes.size();
    record.clear();
    return true;
  };
  for (const iovec& piece : pieces) {
    std::span<const uint8_t> bytes(static_cast<const uint8_t*>(piece.iov_base), piece.iov_len);
    while (!bytes.empty()) {
      const size_t part = std::min(bytes.size(), TlsThread::kRecordBytes - record.size());
      if (part == TlsThread::kRecordBytes) {
        if (!write(bytes.first(part))) return false;
      } else {
        record.append(bytes.data(), part);
        if (record.size() == TlsThread::kRecordBytes && !write(record.bytes())) return false;
      }
      if (*taken >= kMostEncrypted) return true;
      bytes = bytes.subspan(part);
    }
  }
  return record.size() == 0 || write(record.bytes());
}

bool TlsChannel::write_record(std::span<const uint8_t> bytes) noexcept {
  clear_errors();
  size_t taken = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &taken);
  if (result != 1) fail(result);
  return result == 1;
}

ssize_t TlsChannel::send() noexcept {
  BodyBuffer& fresh = thread_.sent;
  if (unsent_.empty()) {
    if (fresh.size() == 0) return 0;
    const ssize_t sent = send_some(fresh.bytes());
    if (sent >= 0) unsent_.assign(fresh.data() + sent, fresh.data() + fresh.size());
    fresh.clear();
    return sent;
  }
  unsent_.insert(unsent_.end(), fresh.data(), fresh.data() + fresh.size());
  fresh.clear();
  const ssize_t sent = send_some(unsent_);
  if (unsent_.size() > kMostUnsent) return -1;
  if (sent > 0) unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
  if (unsent_.empty()) unsent_.shrink_to_fit();
  return sent;
}

ssize_t TlsChannel::send_some(std::span<const uint8_t> bytes) noexcept {
  for (;;) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) return -1;
  }
}

}  // namespace atl::frontends
