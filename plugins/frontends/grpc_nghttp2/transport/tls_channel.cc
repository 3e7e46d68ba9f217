#include "frontends/grpc_nghttp2/transport/tls_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {

/// What OpenSSL calls.
struct TlsCallbacks {
  static int read(BIO* bio, char* to, size_t size, size_t* got) {
    std::span<const uint8_t>& from = static_cast<TlsChannel*>(BIO_get_data(bio))->received_;
    BIO_clear_retry_flags(bio);
    if (from.empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    *got = std::min(size, from.size());
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

  static void on_message(int sent, int, int type, const void* bytes, size_t size, SSL*, void* channel) {
    if (sent != 0 || type != SSL3_RT_HANDSHAKE || size == 0) return;
    if (*static_cast<const uint8_t*>(bytes) != SSL3_MT_KEY_UPDATE) return;
    ++static_cast<TlsChannel*>(channel)->key_updates_;
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
  if (!open_ || broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  (void)send();
}

bool TlsChannel::shake_hands() noexcept {
  if (!receive()) return false;
  ERR_clear_error();
  const int result = SSL_accept(ssl_.get());
  if (result == 1) {
    open_ = true;
  } else {
    fail(result);
  }
  // What went wrong is an alert for the client.
  return send() >= 0 && !ended_;
}

bool TlsChannel::receive() noexcept {
  const ssize_t got = ::recv(fd_, thread_.received.data(), TlsThread::kReceiveBytes, 0);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  received_ = {thread_.received.data(), static_cast<size_t>(got)};
  return got != 0;
}

size_t TlsChannel::read(std::span<uint8_t> room) noexcept {
  size_t got = 0;
  while (!ended_ && got < room.size()) {
    ERR_clear_error();
    size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), room.data() + got, room.size() - got, &bytes);
    if (result != 1) {
      fail(result);
      break;
    }
    got += bytes;
    key_updates_ = 0;
  }
  if (key_updates_ > kMostKeyUpdates) {
    failure_ = "too many changes of keys";
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
  failure_ = take_openssl_error();
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) failure_ += cat(": ", X509_verify_cert_error_string(verified));
}

bool TlsChannel::encrypt(OutQueue* from) noexcept {
  iovec pieces[kMostPieces];
  size_t taken = 0;
  const bool able = encrypt({pieces, from->gather(pieces)}, &taken);
  from->written(taken);
  return able;
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
  ERR_clear_error();
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

}  // namespace atl::frontends::grpc_nghttp2
