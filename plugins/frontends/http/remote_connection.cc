#include "frontends/http/remote_connection.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::frontends::http {
namespace {

constexpr int64_t kConnectTimeoutNs = 5 * kNsPerSecond;
constexpr int kReadings = 16;               ///< before others get their turn
constexpr size_t kMostParts = 256;          ///< of one sendmsg
constexpr size_t kMostUnread = 128 * 1024;  ///< more than a head may have
constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;

}  // namespace

RemoteConnection::RemoteConnection(const RemoteConnectionContext& context, HostPort server,
                                   std::shared_ptr<const RemoteTls> rules)
    : server_(std::move(server)), rules_(std::move(rules)), context_(context) {}

void RemoteConnection::send(std::span<const iovec> request, RemoteExchange& exchange) {
  exchange_ = &exchange;
  request_.assign(request.begin(), request.end());
  sent_ = 0;
  is_paused_ = false;
  input_.clear();
  parser_.emplace(static_cast<RemoteReplyUser&>(*this));
  if (is_connected_) {
    write();
    watch();
  } else {
    connect();
  }
}

void RemoteConnection::close() noexcept {
  const bool is_awaited = std::exchange(exchange_, nullptr) != nullptr;
  Timer::unset();
  if (fd_ < 0) return;
  // The other server is to see at once that nobody waits for its answer.
  const linger reset{1, 0};
  if (is_awaited && is_connected_) (void)setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  if (std::exchange(watched_, 0) != 0) context_.loop.forget(fd_, *this);
  if (is_awaited && tls_ != nullptr) tls_->abandon();
  tls_.reset();
  ::close(std::exchange(fd_, -1));
}

bool RemoteConnection::is_usable() noexcept {
  if (tls_ != nullptr && tls_->has_rest()) return false;
  char first = 0;
  return is_connected_ && fd_ >= 0 && ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void RemoteConnection::watch() noexcept {
  if (fd_ < 0) return;
  uint32_t wanted = 0;
  if (is_sending_) wanted |= EPOLLOUT;
  const bool is_shaking_hands = tls_ != nullptr && !tls_->is_open();
  if (is_shaking_hands || (is_connected_ && !(is_paused_ && exchange_ != nullptr))) wanted |= EPOLLIN;
  const uint32_t before = std::exchange(watched_, wanted);
  if (before == wanted) return;
  if (wanted == 0) return context_.loop.forget(fd_, *this);
  if (before != 0) return context_.loop.rewatch(fd_, wanted, *this);
  if (context_.loop.watch(fd_, wanted, *this).ok()) return;
  watched_ = 0;
  connect_error_ = ENOMEM;
  context_.loop.set(*this, context_.loop.now_ns());
}

void RemoteConnection::on_ready(uint32_t events) noexcept {
  const std::shared_ptr<RemoteConnection> self = shared_from_this();
  if (!is_connected_) return tls_ == nullptr ? connected() : shake_hands();
  if (exchange_ == nullptr) {
    if (!is_usable()) close();
    return;
  }
  if (is_sending_ && (events & (EPOLLOUT | kBroken)) != 0) write();
  if ((events & (EPOLLIN | kBroken)) != 0) receive_all();
  watch();
}

// --- connecting ---

void RemoteConnection::connect() {
  context_.loop.set(*this, context_.loop.now_ns() + kConnectTimeoutNs);
  if (const auto address = HostLookup::read_address(server_)) return connect_to(*address);
  context_.lookup.find(server_, [self = shared_from_this()](const Result<SocketAddress>& found) {
    if (self->exchange_ == nullptr) return;
    if (!found.ok()) return self->fail(found.status().message());
    self->connect_to(found.value());
  });
}

void RemoteConnection::connect_to(const SocketAddress& address) {
  fd_ = begin_connection(address).release();
  if (fd_ >= 0) {
    is_sending_ = true;  // which it can when it is connected
    return watch();
  }
  // Not from inside send(): whose request it is expects to be told later.
  connect_error_ = errno;
  context_.loop.set(*this, context_.loop.now_ns());
}

void RemoteConnection::on_time() noexcept {
  fail(connect_error_ != 0 ? std::strerror(connect_error_) : "it does not take the connection within 5 s");
}

void RemoteConnection::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return fail(std::strerror(error));
  if (rules_ == nullptr) return opened();
  Result<std::unique_ptr<TlsChannel>> tls = context_.tls.connect(fd_, rules_, server_);
  if (!tls.ok()) return fail(tls.status().message());
  tls_ = std::move(tls).value();
  shake_hands();
}

void RemoteConnection::opened() {
  Timer::unset();
  is_connected_ = true;
  write();
  watch();
}

// --- the request ---

void RemoteConnection::write() {
  if (tls_ != nullptr) return write_tls();
  is_sending_ = false;
  while (sent_ < request_.size()) {
    msghdr message{};
    message.msg_iov = &request_[sent_];
    message.msg_iovlen = std::min(request_.size() - sent_, kMostParts);
    const ssize_t count = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      // Of a failure reading says more: maybe a refusal has come.
      is_sending_ = errno == EAGAIN || errno == EWOULDBLOCK;
      return;
    }
    take_sent(static_cast<size_t>(count));
  }
}

void RemoteConnection::take_sent(size_t bytes) {
  while (sent_ < request_.size() && bytes >= request_[sent_].iov_len) bytes -= request_[sent_++].iov_len;
  if (bytes == 0) return;
  request_[sent_].iov_base = static_cast<char*>(request_[sent_].iov_base) + bytes;
  request_[sent_].iov_len -= bytes;
}

// --- the answer ---

void RemoteConnection::resume() noexcept {
  if (std::exchange(is_paused_, false) && exchange_ != nullptr) watch();
}

void RemoteConnection::receive_all() {
  for (int i = 0; i < kReadings && !is_paused_; ++i) {
    if (!receive()) return;
  }
}

bool RemoteConnection::receive() {
  if (tls_ != nullptr) return receive_tls();
  const std::span<char> scratch = context_.scratch;
  const ssize_t count = ::recv(fd_, scratch.data(), scratch.size(), MSG_DONTWAIT);
  const int error = errno;
  if (count > 0) {
    const bool is_all = static_cast<size_t>(count) < scratch.size();
    return parse({scratch.data(), static_cast<size_t>(count)}) && !is_all;
  }
  if (count < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)) return false;
  if (count == 0 && parser_->end()) {
    end(false);
  } else {
    fail(count == 0 ? early_end() : std::strerror(error));
  }
  return false;
}

std::string_view RemoteConnection::early_end() const {
  return parser_->has_begun() ? "it ended the connection in the middle of its answer"
                              : "it ended the connection without an answer";
}

// --- TLS ---

void RemoteConnection::shake_hands() {
  const bool goes_on = tls_->shake_hands();
  tls_->keep_rest();
  if (!goes_on) return fail_tls();
  is_sending_ = tls_->has_unsent();
  if (!tls_->is_open()) return watch();
  opened();
}

void RemoteConnection::fail_tls() {
  const std::string why = TlsClients::failure_of(*tls_);
  if (!tls_->failure().empty()) note_remote_tls_failure(context_.access, server_, why);
  fail(why);
}

// What is encrypted goes first, and nothing more is encrypted while it waits.
void RemoteConnection::write_tls() {
  for (bool able = true;;) {
    // Of a failure reading says more.
    const bool is_broken = tls_->send() < 0;
    is_sending_ = !is_broken && tls_->has_unsent();
    if (is_broken || is_sending_ || !able || sent_ == request_.size()) return;
    size_t taken = 0;
    const size_t parts = std::min(request_.size() - sent_, TlsChannel::kMostPieces);
    able = tls_->encrypt(std::span(&request_[sent_], parts), &taken);
    take_sent(taken);
  }
}

// What has come is decrypted whole, as no event of the socket would tell of a rest.
bool RemoteConnection::receive_tls() {
  const std::shared_ptr<RemoteConnection> self = shared_from_this();
  const bool goes_on = tls_->receive();
  const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(context_.scratch.data()), context_.scratch.size());
  while (const size_t count = tls_->read(room)) {
    if (parse({context_.scratch.data(), count})) continue;
    // Of one that is kept for the next exchange: a rest that nobody has asked for shows that it cannot be.
    if (tls_ != nullptr) tls_->keep_rest();
    return false;
  }
  if (goes_on && !tls_->has_ended()) {
    write_tls();  // what could not be encrypted may have waited for this
    return false;
  }
  // Whoever cuts the connection off could make an answer of no length look whole.
  if (!tls_->failure().empty()) {
    fail_tls();
  } else if (tls_->has_ended() && parser_->end()) {
    end(false);
  } else {
    fail(early_end());
  }
  return false;
}

bool RemoteConnection::parse(std::string_view received) {
  const bool is_joined = !input_.empty();
  if (is_joined) received = input_.append(received);
  size_t consumed = 0;
  const RemoteReplyParser::Step step = parser_->parse(received, &consumed);
  if (exchange_ == nullptr) return false;  // it has had enough
  if (is_joined) {
    input_.erase(0, consumed);
  } else {
    input_ = received.substr(consumed);
  }
  // Bodies are consumed as they come: what is left is a head, or a line between chunks.
  const bool is_too_long = step == RemoteReplyParser::Step::kNeedMore && input_.size() > kMostUnread;
  if (step == RemoteReplyParser::Step::kNeedMore && !is_too_long) return true;
  if (is_too_long || step == RemoteReplyParser::Step::kRefused) {
    fail("its answer is not HTTP, or has too long a head");
  } else {
    end(parser_->keeps_alive() && sent_ == request_.size() && input_.empty());
  }
  return false;
}

void RemoteConnection::on_reply_head(const RemoteReplyHead& head) noexcept {
  if (exchange_ != nullptr) exchange_->on_reply_head(head);
}

bool RemoteConnection::on_reply_body(std::string_view bytes) noexcept {
  return exchange_ != nullptr && exchange_->on_reply_body(bytes);
}

void RemoteConnection::end(bool reusable) {
  const std::shared_ptr<RemoteConnection> self = shared_from_this();
  RemoteExchange* const exchange = std::exchange(exchange_, nullptr);
  if (!reusable) close();
  exchange->on_reply_end(reusable);
}

void RemoteConnection::fail(std::string_view reason) {
  const std::shared_ptr<RemoteConnection> self = shared_from_this();
  RemoteExchange* const exchange = std::exchange(exchange_, nullptr);
  close();
  if (exchange != nullptr) exchange->on_reply_failure(reason);
}

}  // namespace atl::frontends::http
