#include "frontends/grpc_nghttp2/transport/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "atoll/core/status.h"
#include "frontends/common/sockets/peer_address.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Reads of one connection before others have their turn.
constexpr int kReadsATurn = 4;
/// Frames that wait to be written while more is read.
constexpr size_t kMostUnwritten = 64;
/// A read of so many bytes may be part of a large message.
constexpr size_t kMuch = size_t{16} << 10;
/// A read of so many bytes may have several calls.
constexpr size_t kLeastDivided = 512;
/// Of such a read, so many calls are answered first, and then so many at a time.
constexpr size_t kFirstAhead = 2;
constexpr size_t kNextAhead = 8;

}  // namespace

Connection::Connection(int fd, SessionContext& context, ReceiveBuffer& receive,
                       const ConnectionSettings& settings, ConnectionHome& home,
                       std::unique_ptr<TlsChannel> tls) noexcept
    : loop_(context.loop),
      receive_(receive),
      home_(home),
      fd_(fd),
      tls_(std::move(tls)),
      session_(context, *this),
      times_(*this, session_, settings),
      out_(context.frames) {}

Connection::~Connection() {
  loop_.forget(fd_, *this);
  tls_.reset();  // it has its last word
  ::close(fd_);
}

std::string Connection::peer() const { return peer_address(fd_); }

void Connection::start() noexcept {
  if (!session_.open().ok() || !loop_.watch(fd_, EPOLLIN, *this).ok()) return close();
  times_.start();
  if (tls_ != nullptr) tls_->handshakes().begin(*this);
}

void Connection::close() noexcept { home_.on_closed(*this); }

void Connection::close_for(ClosedFor reason) noexcept {
  session_.context().counters.count(reason);
  close();
}

void Connection::shut_down() noexcept {
  if (lingers_) return close();
  session_.finish_going();
  (void)write();
  close();
}

void Connection::go_away() noexcept {
  if (lingers_) return times_.end_now();
  session_.go_away();
  times_.await_going();
}

void Connection::linger() noexcept {
  lingers_ = true;
  tls_.reset();  // it has its last word
  ::shutdown(fd_, SHUT_WR);
  times_.await_end();
}

bool Connection::discard() noexcept {
  const std::span<uint8_t> room = receive_.room();
  for (int i = 0; i < kReadsATurn; ++i) {
    const ssize_t got = ::recv(fd_, room.data(), room.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (got == 0) return false;
  }
  return true;
}

void Connection::on_ready(uint32_t events) noexcept {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read()) return close();
  if ((events & EPOLLOUT) != 0) loop_.at_turn_end(*this);
  // Clients that have their answers go on while those of other connections are made.
  if (!TurnEnd::is_linked()) return;
  TurnEnd::unlink();
  on_turn_end();
}

bool Connection::read() noexcept {
  if (lingers_) return discard();
  if (tls_ != nullptr) return read_tls();
  for (int i = 0; i < kReadsATurn; ++i) {
    const std::span<uint8_t> room = receive_.room();
    // Where little comes there is nothing to foretell.
    is_planned_ = reads_much_ && receive_.plan().make(tracker_, [this](int32_t stream) {
      return session_.streams().message_room(stream);
    });
    const ssize_t got = read_some(room);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (got == 0) return false;
    const auto bytes = static_cast<size_t>(got);
    const size_t most = is_planned_ ? receive_.plan().bytes() : room.size();
    times_.on_read();
    reads_much_ = bytes >= kMuch;
    if (!take_some(bytes, room)) return false;
    // A short read was all there is.
    if (bytes < most) break;
    // What nghttp2 resets by itself is counted when it is sent, so it does not wait for all the reads.
    if (session_.unsent_frames() > kMostUnwritten && !write()) return false;
  }
  return true;
}

ssize_t Connection::read_some(std::span<uint8_t> room) noexcept {
  if (!is_planned_) return ::recv(fd_, room.data(), room.size(), 0);
  receive_.plan().add_rest(room);
  const std::span<const iovec> pieces = receive_.plan().pieces();
  return ::readv(fd_, pieces.data(), static_cast<int>(pieces.size()));
}

bool Connection::take_some(size_t bytes, std::span<const uint8_t> room) noexcept {
  if (!is_planned_) {
    std::span<const uint8_t> came = room.first(bytes);
    const ChunkRef& chunk = receive_.filled(bytes);
    size_t calls = kFirstAhead;
    while (const size_t ahead = bytes_ahead(calls, came)) {
      if (!take(came.first(ahead), chunk) || !write()) return false;
      came = came.subspan(ahead);
      calls = kNextAhead;
    }
    return take(came, chunk);
  }
  // The places that bytes were read to are to hold still until they are taken.
  BufferPool::Hold hold(session_.context().buffers);
  return receive_.plan().take(bytes, [this](std::span<const uint8_t> part, bool is_rest) {
    return take(part, is_rest ? receive_.filled(part.size()) : ChunkRef());
  });
}

// A client that waits for its answers is woken up by the first ones while the others are made, and makes its next calls
// meanwhile. Where other connections have something to say there is work enough for both sides, and what is written
// together costs less.
size_t Connection::bytes_ahead(size_t calls, std::span<const uint8_t> bytes) noexcept {
  if (bytes.size() < kLeastDivided || bytes.size() >= kMuch || !loop_.has_one_ready()) return 0;
  if (const size_t ahead = tracker_.streams_end(calls, bytes); ahead != 0) return ahead;
  const FrameTracker::Place data = tracker_.first_data(bytes);
  const size_t ahead = session_.streams().messages_end(data.stream, calls, bytes.subspan(data.begin));
  return ahead == 0 ? 0 : data.begin + ahead;
}

bool Connection::take(std::span<const uint8_t> bytes, const ChunkRef& held) noexcept {
  const ChunkRef chunk = held;
  do {
    const ssize_t taken = session_.receive(bytes, chunk);
    if (taken < 0) {
      // The client is to see why, as far as its socket takes it.
      (void)write();
      return false;
    }
    tracker_.pass(bytes.first(static_cast<size_t>(taken)));
    bytes = bytes.subspan(static_cast<size_t>(taken));
    if (session_.input().is_paused() && !write()) return false;
  } while (!bytes.empty() || session_.input().is_paused());
  if (session_.is_told()) {
    times_.stop_awaiting_going();
    session_.finish_going();
  }
  times_.on_received();
  return true;
}

void Connection::on_turn_end() noexcept {
  if (lingers_) return;
  if (!write()) return close();
  // What is over for the session may still wait for the socket.
  if (!session_.is_over() || waits_for_room_) return;
  if (session_.client_leaves()) return linger();
  close();
}

bool Connection::write() noexcept {
  if (tls_ != nullptr) return write_tls();
  for (bool more = true; more || !out_.empty();) {
    more = session_.write(&out_);
    if (out_.empty()) break;
    const ssize_t sent = out_.send(fd_);
    if (sent < 0) return false;
    if (sent == 0) {
      wait_for_room(true);
      return true;
    }
    times_.on_taken(static_cast<uint64_t>(sent));
  }
  wait_for_room(false);
  return true;
}

void Connection::wait_for_room(bool waits) noexcept {
  if (waits) {
    times_.await_room();
  } else {
    times_.stop_awaiting_room();
  }
  if (std::exchange(waits_for_room_, waits) == waits) return;
  loop_.rewatch(fd_, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
}

}  // namespace atl::frontends::grpc_nghttp2
