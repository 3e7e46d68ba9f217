#include "frontends/common/http/connection.h"

#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

/// How long a connection that is to be closed is read, so that the client gets the answer and not a reset.
constexpr int64_t kLingerNs = 2 * kNsPerSecond;
constexpr size_t kDropBytes = 16 * 1024;
constexpr int kReadings = 8;  ///< of one connection before others get their turn

}  // namespace

Connection::Connection(ServingThread& worker, int fd)
    : worker_(worker),
      socket_(worker.loop, *this, fd),
      deadline_(worker),
      reader_(worker.server.options.max_body_bytes, worker.server.options.head),
      exchange_(*this, worker, reader_, socket_, deadline_) {}

void Connection::start() noexcept {
  deadline_.expect_request();
  if (worker_.server.tls != nullptr) {
    if (!socket_.secure(*worker_.server.tls, worker_.tls)) return close();
    deadline_.expect_by(deadline_.now_ns(), worker_.server.options.header_timeout_ns);
  }
  if (socket_.start().ok()) {
    advance();
  } else {
    close();
  }
}

bool Connection::may_make_room() noexcept {
  if (worker_.server.options.unfinished_make_room) return state_ != State::kCall;
  return state_ == State::kHead && !exchange_.request().has_begun() && !next_is_here();
}

void Connection::drain() noexcept {
  if (worker_.leaving() && worker_.server.options.leave_grace_ns != 0) {
    if (state_ == State::kHead && !exchange_.request().has_begun()) deadline_.expect_request();
    return;
  }
  exchange_.writer().stop_keeping_alive();
  if (state_ == State::kHead || state_ == State::kBody) close();
}

void Connection::tick(int64_t now_ns) noexcept {
  if (state_ == State::kCall && exchange_.writer().has_begun() && !may_go_on()) return close();
  if (now_ns < deadline_.ns()) return;
  if (state_ == State::kCall && !exchange_.writer().has_begun()) {
    deadline_.expect_nothing();
    if (!exchange_.writer().probe(socket_.bytes())) close();
  } else if (state_ != State::kHead || exchange_.request().has_begun() || socket_.is_shaking_hands()) {
    close();
  } else if (!next_is_here()) {
    linger();
  }
}

void Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  socket_.close(!exchange_.writer().has_begun());
  exchange_.drop();
  // Who still has to answer whether the call may be made gives the identity to nobody.
  if (asking_ == nullptr) {
    access_.set_status(exchange_.http_status());
    access_.forget();
  }
  reader_.identify({}, nullptr);
  worker_.remove(*this);
}

void Connection::end(Exchange::Ending ending) noexcept {
  if (state_ == State::kCall) exchange_.end_call(ending);
  if (ending == Exchange::Ending::kNow) close();
}

// --- requests ---

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
  if (socket_.input_ended() && wants_more) {
    close();
  } else {
    read();
  }
}

bool Connection::advance_head() {
  IncomingRequest& request = exchange_.request();
  if (!reader_.idle() && !request.has_begun()) request.begin();
  if (!request.has_begun()) return false;
  const RequestReader::Step step = reader_.read_head();
  if (step == RequestReader::Step::kNeedMore) return false;
  const RequestHead& head = reader_.head();
  exchange_.writer().start(head, head.keep_alive && !worker_.exiting());
  const bool is_too_large = step == RequestReader::Step::kRefused && reader_.refusal().http_status == 413;
  if (step == RequestReader::Step::kRefused && !is_too_large) {
    refuse(false);
    return false;
  }
  request.judge();
  if (is_too_large) {
    refuse(true);
    return false;
  }
  const AccessPoint& access = worker_.server.access;
  return request.verdict().guarded && access.asks() ? ask_access(access) : begin_body();
}

bool Connection::begin_body() {
  if (exchange_.begin_body()) {
    state_ = State::kBody;
    return true;
  }
  start_call();
  return false;
}

bool Connection::advance_body() {
  IncomingRequest& request = exchange_.request();
  switch (reader_.read_body(!request.is_refused())) {
    case RequestReader::Step::kNeedMore:
      deadline_.await_progress();
      return !request.count_body();  // dropped: the reader is told at once
    case RequestReader::Step::kRefused:
      refuse(true);
      return false;
    default:
      start_call();
      return state_ == State::kHead;
  }
}

void Connection::start_call() {
  state_ = State::kCall;
  exchange_.run();
}

void Connection::refuse(bool was_judged) {
  state_ = State::kCall;
  exchange_.refuse(was_judged);
}

void Connection::on_answered() noexcept {
  reader_.identify({}, nullptr);
  access_.set_status(exchange_.http_status());
  access_.forget();
  if (!exchange_.writer().keeps_alive()) return linger();
  reader_.next();
  state_ = State::kHead;
  deadline_.expect_request();
  advance();
}

// --- the socket ---

void Connection::on_ready(uint32_t events) noexcept {
  AnswerWriter& writer = exchange_.writer();
  if (writer.is_blocked() && (events & (EPOLLOUT | ClientSocket::kBroken)) != 0) {
    writer.unblock();
    exchange_.write();
    if (state_ == State::kClosed) return;
    if (!writer.is_blocked()) socket_.unwatch(EPOLLOUT);
  } else if ((events & EPOLLOUT) != 0 && !socket_.flush()) {
    return close();
  }
  if (wants_input()) {
    if ((events & (EPOLLIN | ClientSocket::kBroken)) != 0) on_readable();
    if (state_ != State::kClosed) socket_.end_receiving();
  } else if ((events & ClientSocket::kBroken) != 0) {
    close();  // by a reset: there is nobody to answer
  } else {
    // Only now, as it seldom comes to this: what asks for each request costs a system call each time.
    socket_.unwatch(EPOLLIN);
  }
}

bool Connection::wants_input() noexcept {
  if (socket_.input_ended() || state_ == State::kAccess) return false;
  return state_ == State::kLinger || !reader_.space().empty();
}

void Connection::read() noexcept {
  if (socket_.watches(EPOLLIN) || !wants_input()) return;
  socket_.watch(EPOLLIN);
  socket_.end_receiving();
}

void Connection::on_readable() noexcept {
  if (state_ == State::kLinger) {
    char dropped[kDropBytes];
    if (socket_.receive(dropped) < 0 || socket_.input_ended()) close();
    return;
  }
  for (int i = 0; i < kReadings; ++i) {
    const std::span<char> space = reader_.space();
    if (space.empty()) break;
    const ssize_t count = socket_.receive(space);
    if (count < 0) return close();
    if (socket_.take_opened()) deadline_.expect_request();
    if (count == 0) {
      if (socket_.input_ended()) on_input_end();
      break;
    }
    reader_.received(static_cast<size_t>(count));
    if (state_ == State::kBody) deadline_.progress(static_cast<size_t>(count));
    advance();
    if (state_ != State::kBody || static_cast<size_t>(count) < space.size()) return;
  }
  advance();
}

void Connection::on_input_end() noexcept {
  if (state_ != State::kCall || exchange_.writer().has_begun()) return;
  deadline_.expect_answer(deadline_.now_ns(), true);
}

bool Connection::next_is_here() noexcept {
  return !reader_.idle() || (!socket_.input_ended() && socket_.has_input());
}

void Connection::linger() noexcept {
  if (socket_.input_ended()) return close();  // nothing can come that a reset would answer
  state_ = State::kLinger;
  deadline_.expect_by(deadline_.now_ns(), kLingerNs);
  socket_.end_output();
  read();
}

}  // namespace atl::frontends::http
