/// What the tests of this plugin share: default options, a client, reading of pages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "atoll/testing/option_table.h"
#include "frontends/common/testing/held_requests.h"
#include "frontends/metrics/option_table.h"

namespace atl::frontends::metrics {

/// Gives every option its default, and the address a free port.
inline void set_default_options(test::FakeOptions& options) {
  options.set_string("address", "127.0.0.1:0");
  if (!test::apply_option_table(kOptions, {}, options).ok()) std::abort();
}

/// The page has the line, whole.
inline bool has_line(const std::string& page, const std::string& line) {
  return ("\n" + page).find("\n" + line + "\n") != std::string::npos;
}
/// Lines that begin so.
inline size_t lines_with(const std::string& page, const std::string& begin) {
  const std::string text = "\n" + page;
  size_t count = 0;
  for (size_t at = 0; (at = text.find("\n" + begin, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// One connection that sends and receives plain text.
class TextClient {
 public:
  explicit TextClient(int port) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)}, error_);
  }
  bool connected() const { return !error_; }
  void send(std::string_view text) { boost::asio::write(socket_, boost::asio::buffer(text), error_); }
  void end_sending() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error_); }
  /// Head and body of the next answer, by its Content-Length; what there is, if the server closes.
  std::string receive() {
    size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return std::exchange(received_, {});
    }
    const size_t field = received_.find("Content-Length: ");
    const size_t length = field > end ? 0 : std::stoul(received_.substr(field + 16));
    while (received_.size() < end + 4 + length) {
      if (!more()) return std::exchange(received_, {});
    }
    std::string answer = received_.substr(0, end + 4 + length);
    received_.erase(0, answer.size());
    return answer;
  }
  std::string ask(std::string_view request) {
    send(request);
    return receive();
  }
  /// Everything until the server closes.
  std::string receive_all() {
    while (more()) {
    }
    return std::exchange(received_, {});
  }
  void set_receive_buffer(int bytes) {
    socket_.set_option(boost::asio::socket_base::receive_buffer_size(bytes));
  }

 private:
  bool more() {
    char bytes[65536];
    boost::system::error_code error;
    const size_t count = socket_.read_some(boost::asio::buffer(bytes), error);
    received_.append(bytes, count);
    return !error;
  }
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  boost::system::error_code error_;
  std::string received_;
};

inline std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n"; }
inline std::string body_of(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.substr(end + 4);
}
inline std::string status_of(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

}  // namespace atl::frontends::metrics
