// What a connection does in another way when there is TLS between it and its socket.
#include "frontends/grpc_nghttp2/transport/connection.h"
#include "frontends/grpc_nghttp2/transport/encrypt_queue.h"

namespace atl::frontends::grpc_nghttp2 {

void Connection::on_handshake_turn() noexcept {
  if (!tls_->shake_hands()) {
    if (!tls_->failure().empty()) home_.on_tls_failure(*this, tls_->failure());
    return close();
  }
  if (tls_->is_open()) {
    end_handshake();
    loop_.at_turn_end(*this);
    // The end of the handshake and the first calls may have come together.
    if (!decrypt()) return close();
  }
  wait_for_room(tls_->has_unsent());
}

void Connection::on_handshake_dropped() noexcept {
  home_.on_tls_failure(*this, "there were too many handshakes at a time");
  close();
}

// One read a turn: small records cost far more than their bytes do without TLS.
bool Connection::read_tls() noexcept {
  if (!tls_->is_open()) {
    tls_->handshakes().wait(*this);
    return true;
  }
  return tls_->receive() && decrypt();
}

bool Connection::decrypt() noexcept {
  for (;;) {
    const std::span<uint8_t> room = receive_.room();
    const size_t bytes = tls_->read(room);
    if (bytes == 0) break;
    times_.on_read();
    if (!take(room.first(bytes), receive_.filled(bytes))) return false;
  }
  if (tls_->has_ended()) {
    if (!tls_->failure().empty()) home_.on_tls_failure(*this, tls_->failure());
    return false;
  }
  // What could not be encrypted may have waited for this.
  if (!out_.empty() || tls_->has_unsent()) loop_.at_turn_end(*this);
  return true;
}

// What is encrypted goes first, and nothing more is encrypted while it waits: so no more than that does.
bool Connection::write_tls() noexcept {
  for (bool more = true, able = tls_->is_open();;) {
    const ssize_t sent = tls_->send();
    if (sent < 0) return false;
    times_.on_taken(static_cast<uint64_t>(sent));
    if (tls_->has_unsent()) {
      wait_for_room(true);
      return true;
    }
    if (!able || (!more && out_.empty())) break;
    more = session_.write(&out_);
    able = out_.empty() || encrypt(*tls_, out_);
    if (tls_->has_ended()) return false;
  }
  wait_for_room(false);
  return true;
}

}  // namespace atl::frontends::grpc_nghttp2
