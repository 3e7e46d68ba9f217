/// A request to an HttpRoutes without a connection or a frontend, and what its client gets.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/testing/fake_exchange.h"

namespace atl::test {

struct FakeHttpRequest {
  std::string method = "GET";
  std::string path = "/";
  std::string query{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
};

struct ReceivedHttpReply {
  int status = 0;  ///< 0: none has come
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  ///< kKeptBytes of it at most; empty if the request was HEAD
};

/// One request. Give it to a provider with send_to(), and look at what came back. Problems are a second end,
/// pieces before begin(), anything after the end, and the head after handle(). The head and the body are freed
/// when they may not be read any more, so that a sanitizer sees who does.
class FakeHttpExchange final : public FakeExchange<HttpExchange> {
 public:
  explicit FakeHttpExchange(FakeHttpRequest request)
      : FakeExchange(/*piece_overhead_bytes=*/0),
        head_(std::make_unique<FakeHttpRequest>(std::move(request))),
        body_bytes_(head_->body.size()),
        body_(body_bytes_ / sizeof(Line) + 2) {
    if (body_bytes_ != 0) std::memcpy(body_.data(), head_->body.data(), body_bytes_);
  }
  virtual ~FakeHttpExchange() = default;

  /// The request, on this thread.
  void send_to(HttpRoutes& provider, std::string_view route) {
    provider.handle(route, *this);
    std::lock_guard lock(mutex_);
    head_.reset();
  }
  /// Who calls, before it is sent; outlives this.
  void set_identity(const Identity* identity) { identity_ = identity; }
  ReceivedHttpReply reply() const {
    std::lock_guard lock(mutex_);
    return reply_;
  }

  // --- HttpExchange ---
  std::string_view method() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_read_head("method") ? std::string_view(head_->method) : std::string_view();
  }
  std::string_view path() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_read_head("path") ? std::string_view(head_->path) : std::string_view();
  }
  std::string_view query() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_read_head("query") ? std::string_view(head_->query) : std::string_view();
  }
  uint32_t header_count() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_read_head("header_count") ? static_cast<uint32_t>(head_->headers.size()) : 0;
  }
  HttpHeader header(uint32_t index) const noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_read_head("header")) return {};
    if (index >= head_->headers.size()) {
      problems_.emplace_back("header() of one that is not there");
      return {};
    }
    return {head_->headers[index].first, head_->headers[index].second};
  }
  std::span<const std::byte> body() const noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("body")) return {};
    return {reinterpret_cast<const std::byte*>(body_.data()), body_bytes_};
  }
  std::string_view caller() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("caller") && identity_ != nullptr ? identity_->name() : std::string_view();
  }
  const Identity* identity() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("identity") ? identity_ : nullptr;
  }
  void answer(const HttpReply& reply, std::string body) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("answer")) return;
    if (has_begun_) problems_.emplace_back("answer() after begin()");
    set_head(reply);
    keep(std::move(body));
    end_here();
  }
  void begin(const HttpReply& reply) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("begin")) return;
    if (has_begun_) problems_.emplace_back("begin() a second time");
    set_head(reply);
    set_begun();
  }
  Status write(std::string piece) noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (!has_begun_ && !has_ended_) problems_.emplace_back("write() before begin()");
    }
    return FakeExchange::write(std::move(piece));
  }
  void end() noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("end")) return;
    if (!has_begun_) problems_.emplace_back("end() without begin()");
    end_here();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  bool may_read_head(std::string_view function) const {
    if (!may_touch(function)) return false;
    if (head_ == nullptr) problems_.push_back(cat(function, "() after handle() has returned"));
    return head_ != nullptr;
  }
  void set_head(const HttpReply& reply) {
    if (reply.status < 200 || reply.status > 599) problems_.push_back(cat("status ", reply.status));
    reply_ = {reply.status, std::string(reply.content_type), {}, {}};
    for (const HttpHeader& header : reply.headers) {
      std::string name(header.name);
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      for (const std::string_view own : {"content-length", "transfer-encoding", "connection"}) {
        if (name == own) problems_.push_back(cat("header '", header.name, "', which the frontend writes"));
      }
      reply_.headers.emplace_back(header.name, header.value);
    }
  }
  void keep(std::string piece) override {
    if (!is_head_) reply_.body.append(piece, 0, kKeptBytes - std::min(kKeptBytes, reply_.body.size()));
  }
  void end_here() {
    body_ = {};
    set_ended();
  }

  // --- under mutex_ ---
  const Identity* identity_ = nullptr;
  std::unique_ptr<FakeHttpRequest> head_;  ///< null: handle() has returned
  const size_t body_bytes_;
  std::vector<Line> body_;
  const bool is_head_ = head_->method == "HEAD";
  ReceivedHttpReply reply_;
};

}  // namespace atl::test
