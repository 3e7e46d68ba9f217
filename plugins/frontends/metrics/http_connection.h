/// One connection of the endpoint.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "atoll/gate.h"

namespace atl::frontends::metrics {

class HttpServer;

/// Reads a request, answers it, and so on. Everything on the server's thread.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// Of the request line, and of the header lines together.
  static constexpr uint32_t kMaxHeadBytes = 8 * 1024;
  static constexpr uint32_t kMaxBodyBytes = 64 * 1024;

  HttpConnection(HttpServer& server, boost::asio::ip::tcp::socket socket);
  void start() { read(); }
  /// An answer is being written.
  bool answering() const noexcept { return answering_; }
  /// Since when it waits for a request.
  std::chrono::steady_clock::time_point waiting_since() const noexcept { return waiting_since_; }
  void close();

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Status = boost::beast::http::status;

  void read();
  void on_read(boost::beast::error_code error);
  void refuse(Status status, const std::string& text);
  void answer(const Request& request);
  void write();
  void on_written(boost::beast::error_code error);
  void linger();

  HttpServer& server_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_{kMaxHeadBytes + kMaxBodyBytes};
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  Response response_;
  Pass pass_;
  bool answering_ = false;
  std::chrono::steady_clock::time_point waiting_since_;
  size_t discarded_ = 0;
};

}  // namespace atl::frontends::metrics
