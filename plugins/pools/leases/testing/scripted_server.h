/// An HTTP server that answers what a test says.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/lib/http_request.h"

namespace atl::pools {

/// One connection after the other, on a thread of its own; each answer ends it.
class ScriptedServer {
 public:
  /// \param path  with the method: "GET /v2/health/live". \returns status 0: the connection is closed without an answer
  using Answer = std::function<HttpAnswer(const std::string& path)>;

  explicit ScriptedServer(Answer answer)
      : answer_(std::move(answer)),
        acceptor_(context_, {boost::asio::ip::make_address("127.0.0.1"), 0}),
        thread_([this] { serve(); }) {}
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    ends_ = true;
    boost::asio::io_context context;
    boost::asio::ip::tcp::socket socket(context);
    boost::system::error_code ignored;
    socket.connect(acceptor_.local_endpoint(), ignored);  // wakes it up
    thread_.join();
  }

  HostPort address() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  /// In order: "POST /v2/repository/index".
  std::vector<std::string> calls() const {
    std::scoped_lock lock(mutex_);
    return calls_;
  }
  /// What each of them has shown; empty: none.
  std::vector<std::string> keys() const {
    std::scoped_lock lock(mutex_);
    return keys_;
  }

 private:
  void serve() {
    while (!ends_) {
      boost::asio::ip::tcp::socket socket(context_);
      boost::system::error_code failed;
      acceptor_.accept(socket, failed);
      if (failed || ends_) continue;
      boost::beast::flat_buffer buffer;
      boost::beast::http::request<boost::beast::http::string_body> request;
      boost::beast::http::read(socket, buffer, request, failed);
      if (failed) continue;
      const std::string call = std::string(request.method_string()) + " " + std::string(request.target());
      {
        std::scoped_lock lock(mutex_);
        calls_.push_back(call);
        keys_.emplace_back(request["atoll-key"]);
      }
      const HttpAnswer answer = answer_(call);
      if (answer.status == 0) continue;
      boost::beast::http::response<boost::beast::http::string_body> response;
      response.result(static_cast<unsigned>(answer.status));
      response.keep_alive(false);
      response.body() = answer.body;
      response.prepare_payload();
      boost::beast::http::write(socket, response, failed);
    }
  }

  Answer answer_;
  std::atomic<bool> ends_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> calls_, keys_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace atl::pools
