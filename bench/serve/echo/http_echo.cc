// What Boost.Beast and Asio themselves can do: the body of each POST is sent back, unread, over HTTP/1.1. One
// thread. Shapes: `beast`, messages read and written by Beast; `direct`, only the head parsed by Beast, the
// body received into its own memory, and the answer written as two buffers.
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "echo_options.h"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint64_t kMaxBody = 64U << 20;

/// Messages are Beast's: vectors as bodies, its parser and its serializer.
class BeastConnection : public std::enable_shared_from_this<BeastConnection> {
 public:
  explicit BeastConnection(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->write();
    });
  }

 private:
  using Body = http::vector_body<char>;

  void write() {
    auto request = parser_->release();
    response_ = {};
    response_.result(http::status::ok);
    response_.set(http::field::content_type, "application/octet-stream");
    response_.body() = std::move(request.body());
    response_.prepare_payload();
    http::async_write(socket_, response_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->read();
    });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<Body>> parser_;
  http::response<Body> response_;
};

/// Beast parses heads; bodies and answers go through Asio.
class DirectConnection : public std::enable_shared_from_this<DirectConnection> {
 public:
  explicit DirectConnection(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](error_code error, size_t) {
                              if (!error) self->read_body();
                            });
  }

 private:
  void read_body() {
    body_.resize(parser_->content_length().value_or(0));
    const size_t at_hand = std::min(buffer_.size(), body_.size());
    if (at_hand > 0) std::memcpy(body_.data(), buffer_.data().data(), at_hand);
    buffer_.consume(at_hand);
    if (at_hand == body_.size()) return write();
    asio::async_read(socket_, asio::buffer(body_) + at_hand,
                     [self = shared_from_this()](error_code error, size_t) {
                       if (!error) self->write();
                     });
  }

  void write() {
    head_ = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ";
    head_ += std::to_string(body_.size());
    head_ += "\r\n\r\n";
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body_)};
    asio::async_write(socket_, buffers, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->read();
    });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::vector<char> body_;
  std::string head_;
};

template <class Connection>
void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](error_code error, tcp::socket socket) {
    if (!error) {
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Connection>(std::move(socket))->read();
    }
    accept<Connection>(acceptor);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::EchoOptions options = bench::parse_echo_options(argc, argv, {"direct", "beast"});
  try {
    asio::io_context io(1);
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), options.port));
    if (options.shape == "direct") {
      accept<DirectConnection>(acceptor);
    } else {
      accept<BeastConnection>(acceptor);
    }
    std::printf("listening on 127.0.0.1:%d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    io.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_echo: %s\n", error.what());
    return 1;
  }
  return 0;
}
