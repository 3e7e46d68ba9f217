#include "http_connection.h"

#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "http_server.h"

namespace atl::frontends::metrics {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr auto kPlainText = "text/plain; charset=utf-8";
/// What is still read of a client that was refused, so that it gets to see the answer.
constexpr size_t kMaxDiscardedBytes = 256 * 1024;
constexpr auto kLingerTime = std::chrono::seconds(1);

}  // namespace

HttpConnection::HttpConnection(HttpServer& server, boost::asio::ip::tcp::socket socket)
    : server_(server), stream_(std::move(socket)) {}

void HttpConnection::close() {
  beast::error_code ignored;
  stream_.socket().close(ignored);
  pass_.reset();
  answering_ = false;
  server_.forget(shared_from_this());
}

void HttpConnection::read() {
  waiting_since_ = std::chrono::steady_clock::now();
  parser_.emplace();
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(kMaxBodyBytes);
  stream_.expires_after(std::chrono::nanoseconds(server_.options_.idle_timeout_ns));
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
}

void HttpConnection::on_read(beast::error_code error) {
  if (!stream_.socket().is_open()) return close();
  if (!error) return answer(parser_->get());
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return refuse(Status::request_header_fields_too_large, "the head of the request is too large\n");
  }
  if (error == http::error::body_limit) {
    return refuse(Status::payload_too_large, "the body of the request is too large\n");
  }
  const bool malformed = error.category() == make_error_code(http::error::bad_method).category();
  if (malformed && error != http::error::end_of_stream && error != http::error::partial_message) {
    return refuse(Status::bad_request, "not an HTTP request\n");
  }
  close();
}

void HttpConnection::refuse(Status status, const std::string& text) {
  response_ = Response(status, 11);
  response_.set(http::field::content_type, kPlainText);
  response_.body() = text;
  response_.keep_alive(false);
  write();
}

void HttpConnection::answer(const Request& request) {
  const auto target = request.target();
  const auto path = target.substr(0, target.find('?'));
  pass_ = Pass(server_.gate_);  // without one, too: the server as a whole is ending and still to be seen
  response_ = Response(Status::ok, request.version());
  response_.set(http::field::content_type, kPlainText);
  if (path != "/metrics" && path != "/metrics/") {
    response_.result(Status::not_found);
    if (request.method() != http::verb::head) response_.body() = "not found; metrics are at /metrics\n";
  } else if (request.method() != http::verb::get) {
    response_.result(Status::method_not_allowed);
    response_.set(http::field::allow, "GET");
  } else {
    try {
      response_.body() = server_.page_();
    } catch (const std::exception& error) {
      response_.result(Status::internal_server_error);
      response_.body() = std::string("no page: ") + error.what() + "\n";
    }
  }
  response_.keep_alive(request.keep_alive() && !server_.draining_);
  write();
}

void HttpConnection::write() {
  response_.prepare_payload();
  answering_ = true;
  stream_.expires_after(std::chrono::nanoseconds(server_.options_.idle_timeout_ns));
  http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
    self->on_written(error);
  });
}

void HttpConnection::on_written(beast::error_code error) {
  pass_.reset();
  answering_ = false;
  response_ = {};
  if (error || !stream_.socket().is_open() || server_.draining_) return close();
  if (parser_->is_done() && parser_->get().keep_alive()) return read();
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  stream_.expires_after(kLingerTime);
  linger();
}

void HttpConnection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kMaxHeadBytes),
                          [self = shared_from_this()](beast::error_code error, size_t size) {
                            self->discarded_ += size;
                            if (error || self->discarded_ > kMaxDiscardedBytes) return self->close();
                            self->linger();
                          });
}

}  // namespace atl::frontends::metrics
