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

RemoteConnection::RemoteConnection(const RemoteConnectionContext& context, HostPort server)
    : server_(std::move(server)), context_(context) {}

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
  ::close(std::exchange(fd_, -1));
}

bool RemoteConnection::is_usable() noexcept {
  char first = 0;
  return is_connected_ && fd_ >= 0 && ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void RemoteConnection::watch() noexcept {
  if (fd_ < 0) return;
  uint32_t wanted = 0;
  if (is_sending_) wanted |= EPOLLOUT;
  if (is_connected_ && !(is_paused_ && exchange_ != nullptr)) wanted |= EPOLLIN;
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
  if (!is_connected_) return connected();
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
  Timer::unset();
  is_connected_ = true;
  write();
  watch();
}

// --- the request ---

void RemoteConnection::write() {
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
    auto left = static_cast<size_t>(count);
    while (sent_ < request_.size() && left >= request_[sent_].iov_len) left -= request_[sent_++].iov_len;
    if (left != 0) {
      request_[sent_].iov_base = static_cast<char*>(request_[sent_].iov_base) + left;
      request_[sent_].iov_len -= left;
    }
  }
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
    fail(count == 0 ? parser_->has_begun() ? "it ended the connection in the middle of its answer"
                                           : "it ended the connection without an answer"
                    : std::strerror(error));
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
