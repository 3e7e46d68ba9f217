/// A request to an HttpRoutes without a connection or a frontend, and what its client gets.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/http_routes.h"
#include "atoll/text.h"

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

/// One request. Give it to a provider with send_to(), and look at what came back. Breaches of the interface
/// (a second end, pieces before begin(), anything after the end, the head after handle()) are collected in
/// problems(): every test should expect none. The head and the body are freed when they may not be read any
/// more, so that a sanitizer sees who does. The object outlives its provider. [any] once it was sent.
class FakeHttpExchange final : public HttpExchange {
 public:
  static constexpr size_t kKeptBytes = 1 << 20;

  explicit FakeHttpExchange(FakeHttpRequest request)
      : head_(std::make_unique<FakeHttpRequest>(std::move(request))),
        body_bytes_(head_->body.size()),
        body_(body_bytes_ / sizeof(Line) + 2) {
    if (body_bytes_ != 0) std::memcpy(body_.data(), head_->body.data(), body_bytes_);
  }
  FakeHttpExchange(const FakeHttpExchange&) = delete;
  FakeHttpExchange& operator=(const FakeHttpExchange&) = delete;
  virtual ~FakeHttpExchange() = default;

  // --- the client ---
  /// Takes nothing of what comes in pieces; its connection is closed when more than so many bytes wait.
  /// Before the request is sent.
  void take_nothing(uint64_t most_waiting_bytes) noexcept { most_waiting_bytes_ = most_waiting_bytes; }
  /// The request, on this thread.
  void send_to(HttpRoutes& provider, std::string_view route) {
    provider.handle(route, *this);
    std::lock_guard lock(mutex_);
    head_.reset();
  }
  /// It goes away, if it is still there.
  void leave() {
    {
      std::lock_guard lock(mutex_);
      has_left_ = true;
    }
    cancellation_.cancel();
  }

  // --- looking ---
  /// Waits for the end. \returns false: there is none after so long
  [[nodiscard]] bool wait_end(std::chrono::milliseconds most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return has_ended_; });
  }
  /// Waits for the head of an answer in pieces, or the end. \returns false: neither is there after so long
  [[nodiscard]] bool wait_begin(std::chrono::milliseconds most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return has_begun_ || has_ended_; });
  }
  ReceivedHttpReply reply() const {
    std::lock_guard lock(mutex_);
    return reply_;
  }
  std::vector<std::string> problems() const {
    std::lock_guard lock(mutex_);
    return problems_;
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
  Cancellation& cancellation() noexcept override {
    std::lock_guard lock(mutex_);
    (void)may_touch("cancellation");
    return cancellation_;
  }
  void answer(const HttpReply& reply, std::string body) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("answer")) return;
    if (has_begun_) problems_.emplace_back("answer() after begin()");
    set_head(reply);
    keep(body);
    set_ended();
  }
  void begin(const HttpReply& reply) noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("begin")) return;
    if (std::exchange(has_begun_, true)) problems_.emplace_back("begin() a second time");
    set_head(reply);
    changed_.notify_all();
  }
  Status write(std::string piece) noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (!may_touch("write")) return Status(Code::kCancelled, "the exchange has ended");
      if (!has_begun_) problems_.emplace_back("write() before begin()");
      if (has_left_) return Status(Code::kCancelled, "the client has gone");
      // A single piece may be larger than the limit if nothing else waits.
      has_left_ = waiting_bytes_ != 0 && waiting_bytes_ + piece.size() > most_waiting_bytes_;
      if (!has_left_) {
        keep(piece);
        if (most_waiting_bytes_ != kTakesAll) waiting_bytes_ += piece.size();
        return {};
      }
    }
    cancellation_.cancel();
    return Status(Code::kResourceExhausted, "too much waits for the client");
  }
  uint64_t waiting_bytes() const noexcept override {
    std::lock_guard lock(mutex_);
    return may_touch("waiting_bytes") ? waiting_bytes_ : 0;
  }
  void end() noexcept override {
    std::lock_guard lock(mutex_);
    if (!may_touch("end")) return;
    if (!has_begun_) problems_.emplace_back("end() without begin()");
    set_ended();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr uint64_t kTakesAll = std::numeric_limits<uint64_t>::max();

  bool may_touch(std::string_view function) const {
    if (has_ended_) problems_.push_back(cat(function, "() after the end"));
    return !has_ended_;
  }
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
  void keep(const std::string& piece) {
    if (!is_head_) reply_.body.append(piece, 0, kKeptBytes - std::min(kKeptBytes, reply_.body.size()));
  }
  void set_ended() {
    has_ended_ = true;
    body_ = {};
    changed_.notify_all();
  }

  uint64_t most_waiting_bytes_ = kTakesAll;
  Cancellation cancellation_;

  mutable std::mutex mutex_;  ///< guards what follows
  mutable std::condition_variable changed_;
  std::unique_ptr<FakeHttpRequest> head_;  ///< null: handle() has returned
  const size_t body_bytes_;
  std::vector<Line> body_;
  const bool is_head_ = head_->method == "HEAD";
  bool has_begun_ = false;
  bool has_ended_ = false;
  bool has_left_ = false;
  uint64_t waiting_bytes_ = 0;
  ReceivedHttpReply reply_;
  mutable std::vector<std::string> problems_;
};

}  // namespace atl::test
