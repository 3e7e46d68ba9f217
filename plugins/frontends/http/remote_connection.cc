#include "frontends/http/remote_connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace atl::frontends::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::seconds kConnectTimeout{5};
constexpr int kReadings = 16;       ///< before others get their turn
constexpr size_t kMostParts = 256;  ///< of one sendmsg

}  // namespace

RemoteConnection::RemoteConnection(asio::io_context& io, HostPort server, std::span<char> scratch)
    : server_(std::move(server)), socket_(io), resolver_(io), timer_(io), scratch_(scratch) {}

void RemoteConnection::send(std::span<const iovec> request, RemoteExchange& exchange) {
  exchange_ = &exchange;
  request_.assign(request.begin(), request.end());
  sent_ = 0;
  is_paused_ = false;
  input_.clear();
  parser_.emplace(static_cast<RemoteReplyUser&>(*this));
  if (is_connected_) {
    write();
    read();
  } else {
    connect();
  }
}

void RemoteConnection::close() noexcept {
  ErrorCode ignored;
  // The other server is to see at once that nobody waits for its answer.
  if (std::exchange(exchange_, nullptr) != nullptr && is_connected_)
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  timer_.cancel(ignored);
  resolver_.cancel();
  socket_.close(ignored);
}

bool RemoteConnection::is_usable() noexcept {
  char first = 0;
  return is_connected_ && socket_.is_open() &&
         ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

// --- connecting ---

void RemoteConnection::connect() {
  timer_.expires_after(kConnectTimeout);
  timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (!error && !self->is_connected_) self->fail("it does not take the connection within 5 s");
  });
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(server_.host, error);
  if (!error) return connect_to({address, server_.port});
  resolver_.async_resolve(
      server_.host, std::to_string(server_.port),
      [self = shared_from_this()](const ErrorCode& failure, const tcp::resolver::results_type& found) {
        if (self->exchange_ == nullptr) return;
        if (failure || found.empty()) return self->fail(failure.message());
        self->connect_to(found.begin()->endpoint());
      });
}

void RemoteConnection::connect_to(const tcp::endpoint& endpoint) {
  socket_.async_connect(endpoint,
                        [self = shared_from_this()](const ErrorCode& error) { self->connected(error); });
}

void RemoteConnection::connected(const ErrorCode& error) {
  if (exchange_ == nullptr) return;
  ErrorCode ignored;
  timer_.cancel(ignored);
  if (error) return fail(error.message());
  is_connected_ = true;
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  write();
  read();
}

// --- the request ---

void RemoteConnection::write() {
  while (sent_ < request_.size()) {
    msghdr message{};
    message.msg_iov = &request_[sent_];
    message.msg_iovlen = std::min(request_.size() - sent_, kMostParts);
    const ssize_t count = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return;  // reading says more: maybe a refusal has come
      socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const ErrorCode& error) {
        if (!error && self->exchange_ != nullptr) self->write();
      });
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

void RemoteConnection::resume() {
  if (!std::exchange(is_paused_, false) || exchange_ == nullptr) return;
  // Not from inside what the exchange does: that may be inside parse().
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->exchange_ != nullptr) self->on_readable();
  });
}

void RemoteConnection::read() {
  if (is_reading_ || !socket_.is_open()) return;
  is_reading_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const ErrorCode& error) {
    self->is_reading_ = false;
    if (self->exchange_ != nullptr) return error ? self->fail(error.message()) : self->on_readable();
    if (self->is_usable()) return self->read();
    self->close();
  });
}

void RemoteConnection::on_readable() {
  for (int i = 0; i < kReadings; ++i) {
    if (is_paused_) return;
    if (!receive()) return;
  }
  read();
}

bool RemoteConnection::receive() {
  const ssize_t count = ::recv(socket_.native_handle(), scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  const int error = errno;
  if (count > 0) {
    const bool is_all = static_cast<size_t>(count) < scratch_.size();
    if (!parse({scratch_.data(), static_cast<size_t>(count)})) return false;
    if (is_all) read();
    return !is_all;
  }
  if (count < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)) {
    read();
    return false;
  }
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
  if (step == RemoteReplyParser::Step::kNeedMore) return true;
  if (step == RemoteReplyParser::Step::kRefused) {
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
