#include "caches/redis/redis_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

#include "atoll/core/text.h"

namespace atl::caches {
namespace asio = boost::asio;

namespace {

/// Beside an answer: its frame, and what is read with it.
constexpr uint64_t kReplySlackBytes = uint64_t{128} << 10;

}  // namespace

RedisConnection::RedisConnection(asio::io_context& io, asio::ssl::context* tls, const RedisSettings& settings,
                                 Owner& owner)
    : settings_(settings),
      owner_(owner),
      resolver_(io),
      socket_(io),
      tls_(tls == nullptr ? nullptr : std::make_unique<asio::ssl::stream<Socket&>>(socket_, *tls)),
      timer_(io),
      replies_(settings.entry_bytes_max + kReplySlackBytes),
      read_(kReadBytes) {}

void RedisConnection::open() {
  timer_.expires_after(std::chrono::nanoseconds(settings_.connect_timeout_ns));
  timer_.async_wait([self = shared_from_this()](const Error& error) {
    if (!error && !self->ready_) self->fail(RedisFailure::kTimeout, "no connection within connect_timeout");
  });
  resolver_.async_resolve(settings_.address.host, std::to_string(settings_.address.port),
                          then("name", [this](const asio::ip::tcp::resolver::results_type& found) {
                            asio::async_connect(
                                socket_, found, then("connect", [this](const asio::ip::tcp::endpoint&) {
                                  Error ignored;
                                  (void)socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
                                  tls_ == nullptr ? authenticate() : begin_tls();
                                }));
                          }));
}

void RedisConnection::begin_tls() {
  const std::string& name = settings_.tls.server_name;
  Error is_name;
  (void)asio::ip::make_address(name, is_name);
  if (is_name) SSL_set_tlsext_host_name(tls_->native_handle(), name.c_str());
  tls_->set_verify_mode(asio::ssl::verify_peer);
  tls_->set_verify_callback(asio::ssl::host_name_verification(name));
  tls_->async_handshake(asio::ssl::stream_base::client, then("TLS", [this] { authenticate(); }));
}

void RedisConnection::authenticate() {
  read();
  if (!settings_.user.empty()) {
    await_ok(RedisCommand({"AUTH", settings_.user, settings_.password}), false);
  } else if (!settings_.password.empty()) {
    await_ok(RedisCommand({"AUTH", settings_.password}), false);
  }
  if (settings_.database != 0) await_ok(RedisCommand({"SELECT", cat(settings_.database)}), false);
  await_ok(RedisCommand({"PING"}), true);
}

void RedisConnection::await_ok(RedisCommand command, bool is_last) {
  send(std::move(command), [this, is_last](RedisReply* reply) {
    if (reply == nullptr) return;
    if (reply->kind == RedisReply::Kind::kError) return fail(RedisFailure::kRefused, reply->text);
    if (!is_last) return;
    ready_ = true;
    timer_.cancel();
    owner_.on_ready(*this);
  });
}

void RedisConnection::send(RedisCommand command, Handler handler) {
  if (closed_) return handler(nullptr);
  waiting_.push_back(std::move(command));
  handlers_.push_back(std::move(handler));
  if (writing_.empty()) write();
}

void RedisConnection::write() {
  writing_ = std::exchange(waiting_, {});
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(writing_.size());
  for (const RedisCommand& command : writing_) {
    buffers.emplace_back(command.bytes().data(), command.bytes().size());
  }
  with_stream([&](auto& stream) {
    asio::async_write(stream, buffers, then("write", [this](size_t) {
                        writing_.clear();
                        if (!waiting_.empty()) write();
                      }));
  });
}

void RedisConnection::read() {
  with_stream([&](auto& stream) {
    stream.async_read_some(asio::buffer(read_), then("read", [this](size_t size) {
                             const std::string_view bytes(read_.data(), size);
                             Status status = replies_.feed(bytes, [this](RedisReply& reply) { take(reply); });
                             if (!status.ok())
                               return fail(RedisFailure::kProtocol, std::string(status.message()));
                             if (!closed_) read();
                           }));
  });
}

void RedisConnection::take(RedisReply& reply) {
  if (closed_) return;
  if (handlers_.empty()) return fail(RedisFailure::kProtocol, "a reply to no command");
  const Handler handler = std::move(handlers_.front());
  handlers_.pop_front();
  handler(&reply);
}

void RedisConnection::fail(RedisFailure failure, std::string why) noexcept {
  if (closed_) return;
  const auto self = shared_from_this();
  close();
  owner_.on_failure(*this, failure, unavailable(why));
}

void RedisConnection::close() noexcept {
  if (closed_) return;
  closed_ = true;
  ready_ = false;
  Error ignored;
  timer_.cancel();
  resolver_.cancel();
  (void)socket_.close(ignored);
  for (const Handler& handler : std::exchange(handlers_, {})) handler(nullptr);
}

}  // namespace atl::caches
