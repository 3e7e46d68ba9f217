#include "frontends/common/http/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

/// How long a connection that is to be closed is read, so that the client gets the answer and not a reset.
constexpr int64_t kLingerNs = 2 * kNsPerSecond;
constexpr size_t kDropBytes = 16 * 1024;
/// A body is charged in steps of so many bytes, as it arrives: a client that announces much and sends little
/// keeps nobody out.
constexpr uint64_t kChargeStepBytes = 64 * 1024;
constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;  ///< told without being asked for
constexpr int kReadings = 8;                       ///< of one connection before others get their turn
constexpr size_t kStreamBatchBytes = 256 * 1024;   ///< of a stream in one writing
constexpr size_t kMostParts = 256;                 ///< of one sendmsg; the system's limit is 1,024
constexpr int kPreflightStatus = 200;              ///< of a verdict: the answer is its headers alone
constexpr std::string_view kLastChunk = "0\r\n\r\n";

iovec to_iovec(std::string_view bytes) noexcept { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

Connection::Connection(ServingThread& worker, int fd)
    : worker_(worker), fd_(fd), reader_(worker.server.options.max_body_bytes, worker.server.options.head) {
  const RequestBudgets* memory = worker.server.request_memory;
  if (memory != nullptr) charge_.set_source(*memory, Code::kUnavailable);
}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::start() noexcept {
  expect_request();
  if (worker_.loop.watch(fd_, watched_, *this).ok()) {
    advance();
  } else {
    close();
  }
}

bool Connection::may_make_room() noexcept {
  if (worker_.server.options.unfinished_make_room) return state_ != State::kCall;
  return state_ == State::kHead && !head_begun_ && !next_is_here();
}

void Connection::drain() noexcept {
  if (worker_.leaving() && worker_.server.options.leave_grace_ns != 0) {
    if (state_ == State::kHead && !head_begun_) expect_request();
    return;
  }
  keep_alive_ = false;
  if (state_ == State::kHead || state_ == State::kBody) close();
}

void Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  worker_.loop.forget(fd_, *this);
  ::close(std::exchange(fd_, -1));
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_gone();
  worker_.buffers.give(std::move(reader_.body()));
  charge_.release();
  worker_.remove(*this);
}

// --- reading ---

void Connection::advance() noexcept {
  if (advancing_) return;
  advancing_ = true;
  bool proceed = true;
  while (proceed) {
    switch (state_) {
      case State::kHead:
        proceed = advance_head();
        break;
      case State::kBody:
        proceed = advance_body();
        break;
      default:
        proceed = false;
    }
  }
  advancing_ = false;
  if (state_ == State::kClosed) return;
  const bool wants_more = state_ == State::kHead || state_ == State::kBody;
  if (input_ended_ && wants_more) {
    close();
  } else {
    read();
  }
}

bool Connection::advance_head() {
  if (!reader_.idle() && !head_begun_) {
    head_begun_ = true;
    cors_lines_.clear();
    first_byte_ns_ = now_ns();
    bytes_at_first_ = reader_.received_bytes();
    expect_by(first_byte_ns_, worker_.server.options.header_timeout_ns);
  }
  if (!head_begun_) return false;
  const RequestReader::Step step = reader_.read_head();
  if (step == RequestReader::Step::kNeedMore) return false;
  const RequestHead& head = reader_.head();
  version_ = head.version;
  no_body_ = head.method == "HEAD";
  keep_alive_ = head.keep_alive && !worker_.exiting();
  if (step == RequestReader::Step::kRefused) {
    refuse();
    return false;
  }
  verdict_.reset();
  const CorsPolicy& cors = worker_.server.options.cors;
  if (cors.is_active() && cors.judge(head, &cors_lines_)) {
    verdict_.http_status = kPreflightStatus;
    return begin_body();
  }
  worker_.handler().judge(head, verdict_);
  const AccessPoint& access = worker_.server.access;
  return verdict_.guarded && access.asks() ? ask_access(access) : begin_body();
}

bool Connection::begin_body() {
  const RequestHead& head = reader_.head();
  if (verdict_.http_status == 0 && head.content_length > kUncountedBodyBytes) {
    if (Status status = charge_.check(head.content_length); !status.ok()) drop_body(status);
  }
  const bool awaited =
      head.expects_continue && head.version == 11 && reader_.wants_body() && !reader_.has_body_bytes();
  if (awaited && verdict_.http_status != 0) {
    // The client waits to hear whether it is to send the body, and need not send it after this.
    keep_alive_ = false;
    start_call();
    return false;
  }
  if (awaited) (void)send_continue();
  expect_nothing();  // until it is seen that not all of it is here
  state_ = State::kBody;
  if (verdict_.http_status == 0) reader_.body() = worker_.buffers.take();
  return true;
}

bool Connection::advance_body() {
  switch (reader_.read_body(verdict_.http_status == 0)) {
    case RequestReader::Step::kNeedMore:
      await_progress();
      return !count_body();  // dropped: the reader is told at once
    case RequestReader::Step::kRefused:
      refuse();
      return false;
    default:
      start_call();
      return state_ == State::kHead;
  }
}

bool Connection::count_body() noexcept {
  const uint64_t bytes = reader_.body().size();
  if (verdict_.http_status != 0 || bytes <= kUncountedBodyBytes) return true;
  const uint64_t rounded = (bytes + kChargeStepBytes - 1) / kChargeStepBytes * kChargeStepBytes;
  Status status = charge_.cover(rounded);
  if (!status.ok()) drop_body(status);
  return status.ok();
}

void Connection::drop_body(const Status& reason) noexcept {
  verdict_.http_status = http_status(reason.code());
  verdict_.text = reason.message();
  verdict_.extra = cat("Retry-After: ", RequestCharge::kRetryAfterMs / 1000, "\r\n");
  reader_.body() = {};
  charge_.release();
}

void Connection::start_call() {
  state_ = State::kCall;
  // Most requests come in one piece; the clock is not asked again for those.
  last_byte_ns_ = reader_.received_bytes() == bytes_at_first_ ? first_byte_ns_ : now_ns();
  expect_answer(last_byte_ns_);
  probed_ = false;
  if (verdict_.http_status == 0) call_ = worker_.handler().make_call(reader_.head(), verdict_);
  if (verdict_.http_status == kPreflightStatus) return answer_text({}, {});
  if (call_ == nullptr) {
    answer_refusal({.http_status = verdict_.http_status, .extra = verdict_.extra}, verdict_.text);
    return;
  }
  keeps_head_ = false;
  call_->run(*this);
  if (state_ == State::kCall && !keeps_head_) reader_.release_head();
}

void Connection::refuse() {
  const RequestRefusal refusal = reader_.refusal();
  verdict_.category = state_ == State::kBody ? verdict_.category : RequestCounters::kUnjudged;
  state_ = State::kCall;
  keep_alive_ = false;
  const bool is_too_large = refusal.http_status == 413;
  answer_refusal(
      {.http_status = is_too_large ? worker_.server.options.too_large_status : refusal.http_status},
      refusal.text);
}

void Connection::answer_refusal(ReplyHead head, std::string_view text) noexcept {
  std::string body = worker_.server.application.refusal_body(text, head);
  answer_text(head, std::move(body));
}

void Connection::on_ready(uint32_t events) noexcept {
  if (waiting_to_write_ && (events & (EPOLLOUT | kBroken)) != 0) {
    waiting_to_write_ = false;
    write();
    if (state_ == State::kClosed) return;
    if (!waiting_to_write_) watch_for(watched_ & ~EPOLLOUT);
  }
  if (wants_input()) {
    if ((events & (EPOLLIN | kBroken)) != 0) on_readable();
  } else if ((events & kBroken) != 0) {
    close();  // by a reset: there is nobody to answer
  } else {
    // Only now, as it seldom comes to this: what asks for each request costs a system call each time.
    watch_for(watched_ & ~EPOLLIN);
  }
}

void Connection::watch_for(uint32_t events) noexcept {
  if (std::exchange(watched_, events) != events) worker_.loop.rewatch(fd_, events, *this);
}

bool Connection::wants_input() noexcept {
  if (input_ended_ || state_ == State::kAccess) return false;
  return state_ == State::kLinger || !reader_.space().empty();
}

void Connection::read() noexcept {
  if ((watched_ & EPOLLIN) == 0 && wants_input()) watch_for(watched_ | EPOLLIN);
}

void Connection::on_readable() noexcept {
  if (state_ == State::kLinger) {
    char dropped[kDropBytes];
    (void)receive({dropped, sizeof dropped});
    return;
  }
  for (int i = 0; i < kReadings; ++i) {
    const std::span<char> space = reader_.space();
    if (space.empty()) break;
    const ssize_t count = receive(space);
    if (count < 0) return;
    if (count == 0) break;  // also: nothing more will come
    reader_.received(static_cast<size_t>(count));
    if (state_ == State::kBody) progress(static_cast<size_t>(count));
    advance();
    if (state_ != State::kBody || static_cast<size_t>(count) < space.size()) return;
  }
  advance();
}

ssize_t Connection::receive(std::span<char> space) noexcept {
  while (true) {
    const ssize_t count = ::recv(fd_, space.data(), space.size(), MSG_DONTWAIT);
    if (count > 0) return count;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (count == 0 && state_ != State::kLinger) {
      input_ended_ = true;
      if (state_ == State::kCall && !answering_) expect_answer(now_ns());
      return 0;
    }
    close();
    return -1;
  }
}

bool Connection::next_is_here() noexcept {
  if (!reader_.idle() || input_ended_) return !reader_.idle();
  char first = 0;
  return ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

// --- writing ---

BodyBuffer Connection::take_body() noexcept { return std::move(reader_.body()); }

void Connection::begin_answer(const ReplyHead& head, Framing framing) {
  answering_ = true;
  if (worker_.exiting() || framing == Framing::kUntilClosed) keep_alive_ = false;
  if (input_ended_) keep_alive_ = keep_alive_ && !reader_.idle();
  // What was sent without waiting for this answer is answered too.
  if (worker_.leaving()) keep_alive_ = keep_alive_ && now_ns() < worker_.leave_by_ns() && next_is_here();
  write_reply_head(head, cors_lines_, version_, framing, keep_alive_, &reply_head_);
  worker_.counters.add(verdict_.category, head.http_status);
  expect_nothing();  // until the socket takes no more
  parts_.clear();
  part_ = 0;
  parts_.push_back(to_iovec(std::string_view(reply_head_).substr(std::exchange(sent_ahead_, 0))));
}

void Connection::answer(const ReplyHead& head, std::span<const iovec> body) noexcept {
  if (state_ != State::kCall) return;
  begin_answer(head, Framing::kLength);
  if (!no_body_) parts_.insert(parts_.end(), body.begin(), body.end());
  write();
}

void Connection::answer_text(ReplyHead head, std::string body) noexcept {
  if (state_ != State::kCall) return;
  own_body_ = std::move(body);
  head.content_length = own_body_.size();
  begin_answer(head, Framing::kLength);
  if (!no_body_ && !own_body_.empty()) parts_.push_back(to_iovec(own_body_));
  write();
}

void Connection::begin_stream(const ReplyHead& head) noexcept {
  if (state_ != State::kCall) return;
  streaming_ = true;
  stream_ended_ = false;
  stream_chunked_ = version_ == 11;
  begin_answer(head, stream_chunked_ ? Framing::kChunked : Framing::kUntilClosed);
  write();
}

void Connection::stream(std::string bytes) noexcept {
  if (state_ != State::kCall || bytes.empty()) return;
  stream_next_.push_back(std::move(bytes));
  if (!waiting_to_write_) write();
}

void Connection::end_stream() noexcept {
  if (state_ != State::kCall) return;
  stream_ended_ = true;
  if (!waiting_to_write_) write();
}

/// Some of what waits becomes what is written.
void Connection::queue_stream() {
  stream_out_.clear();
  stream_data_bytes_ = 0;
  own_body_.clear();  // the heads of the chunks
  parts_.clear();
  part_ = 0;
  while (!stream_next_.empty() && stream_data_bytes_ < kStreamBatchBytes) {
    stream_data_bytes_ += stream_next_.front().size();
    stream_out_.push_back(std::move(stream_next_.front()));
    stream_next_.pop_front();
  }
  if (stream_out_.empty()) return;
  if (stream_chunked_) {
    char size[24];
    const int length = std::snprintf(size, sizeof size, "%zx\r\n", stream_data_bytes_);
    own_body_.assign(size, static_cast<size_t>(length));
    parts_.push_back(to_iovec(own_body_));
  }
  for (const std::string& bytes : stream_out_) parts_.push_back(to_iovec(bytes));
  if (stream_chunked_) parts_.push_back(to_iovec("\r\n"));
  expect_nothing();
}

void Connection::write() noexcept {
  if (waiting_to_write_) return;
  while (write_parts()) {
    if (!streaming_) {
      finish_answer();
      return;
    }
    if (stream_data_bytes_ != 0 && call_ != nullptr) {
      call_->on_stream_written(std::exchange(stream_data_bytes_, 0));
      if (state_ != State::kCall) return;
    }
    const bool more = !stream_next_.empty();
    queue_stream();
    if (more) continue;
    if (!stream_ended_) {
      expect_nothing();  // the model's turn
      return;
    }
    streaming_ = false;
    if (!stream_chunked_) {
      finish_answer();
      return;
    }
    parts_.push_back(to_iovec(kLastChunk));
  }
}

bool Connection::write_parts() noexcept {
  while (part_ < parts_.size()) {
    msghdr message{};
    message.msg_iov = &parts_[part_];
    message.msg_iovlen = std::min(parts_.size() - part_, kMostParts);
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        close();
        return false;
      }
      waiting_to_write_ = true;
      await_progress();
      watch_for(watched_ | EPOLLOUT);
      return false;
    }
    auto left = static_cast<size_t>(sent);
    progress(left);
    while (part_ < parts_.size() && left >= parts_[part_].iov_len) left -= parts_[part_++].iov_len;
    if (left != 0) {
      parts_[part_].iov_base = static_cast<char*>(parts_[part_].iov_base) + left;
      parts_[part_].iov_len -= left;
    }
  }
  return true;
}

void Connection::finish_answer() noexcept {
  answering_ = streaming_ = false;
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_written();
  worker_.buffers.give(std::move(reader_.body()));
  charge_.release();
  if (!keep_alive_) {
    linger();
    return;
  }
  reader_.next();
  head_begun_ = false;
  state_ = State::kHead;
  expect_request();
  advance();
}

void Connection::linger() noexcept {
  if (input_ended_) return close();  // nothing can come that a reset would answer
  state_ = State::kLinger;
  expect_by(now_ns(), kLingerNs);
  (void)::shutdown(fd_, SHUT_WR);
  read();
}

}  // namespace atl::frontends::http
