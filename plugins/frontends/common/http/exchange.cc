#include "frontends/common/http/exchange.h"

#include <utility>

#include "frontends/common/http/connection.h"
#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kGivenUp =
    "Server exiting: the request was not done when the drain timeout was over";

}  // namespace

Exchange::Exchange(Connection& connection, ServingThread& worker, RequestReader& reader, ClientSocket& socket,
                   ClientDeadline& deadline) noexcept
    : connection_(connection),
      worker_(worker),
      reader_(reader),
      socket_(socket),
      deadline_(deadline),
      request_(worker, reader, deadline) {}

// --- the request ---

bool Exchange::begin_body() {
  http_status_ = kUnanswered;
  request_.begin_body();
  const bool awaits_continue = request_.awaits_continue();
  if (awaits_continue && request_.is_refused()) {
    // The client waits to hear whether it is to send the body, and need not send it after this.
    writer_.stop_keeping_alive();
    return false;
  }
  if (awaits_continue) (void)writer_.send_continue(socket_.bytes());
  deadline_.expect_nothing();  // until it is seen that not all of it is here
  if (!request_.is_refused()) reader_.body() = worker_.buffers.take();
  return true;
}

void Exchange::run() {
  is_running_ = true;
  request_.complete();
  deadline_.expect_answer(request_.last_byte_ns(), socket_.input_ended());
  Verdict& verdict = request_.verdict();
  if (!request_.is_refused()) call_ = worker_.handler().make_call(reader_.head(), verdict);
  if (request_.is_preflight()) return answer_text({}, {});
  if (call_ == nullptr) {
    answer_refusal({.http_status = verdict.http_status, .extra = verdict.extra}, verdict.text);
    return;
  }
  keeps_head_ = false;
  call_->run(*this);
  if (is_running_ && !keeps_head_) reader_.release_head();
}

void Exchange::refuse(bool was_judged) {
  const RequestRefusal refusal = reader_.refusal();
  const bool is_too_large = refusal.http_status == 413;
  const int status = is_too_large ? worker_.server.options.too_large_status : refusal.http_status;
  Verdict& verdict = request_.verdict();
  is_running_ = true;
  writer_.stop_keeping_alive();
  if (was_judged) {
    verdict.refuse(status, refusal.text);
    worker_.handler().on_refused(reader_.head(), verdict);
  } else {
    verdict.category = RequestCounters::kUnjudged;
  }
  answer_refusal({.http_status = status}, refusal.text);
}

void Exchange::answer_refusal(ReplyHead head, std::string_view text) noexcept {
  if (Verdict& verdict = request_.verdict(); !verdict.body.empty()) {
    head.content_type = verdict.body_type;
    return answer_text(head, std::move(verdict.body));
  }
  std::string body = worker_.server.application.refusal_body(text, head);
  answer_text(head, std::move(body));
}

// --- the answer ---

void Exchange::about_to_answer(int http_status, Framing framing) noexcept {
  bool keeps_alive = writer_.keeps_alive() && !worker_.exiting() && framing != Framing::kUntilClosed;
  if (socket_.input_ended()) keeps_alive = keeps_alive && !reader_.idle();
  // What was sent without waiting for this answer is answered too.
  if (worker_.leaving()) {
    keeps_alive = keeps_alive && deadline_.now_ns() < worker_.leave_by_ns() && connection_.next_is_here();
  }
  if (!keeps_alive) writer_.stop_keeping_alive();
  worker_.counters.add(request_.verdict().category, http_status);
  http_status_ = http_status;
  deadline_.expect_nothing();  // until the socket takes no more
}

void Exchange::answer(const ReplyHead& head, std::span<const iovec> body) noexcept {
  if (!is_running_) return;
  about_to_answer(head.http_status, Framing::kLength);
  writer_.begin(head, request_.answer_lines(), Framing::kLength);
  writer_.add(body);
  write();
}

void Exchange::answer_text(ReplyHead head, std::string body) noexcept {
  if (!is_running_) return;
  head.content_length = body.size();
  about_to_answer(head.http_status, Framing::kLength);
  writer_.begin(head, request_.answer_lines(), Framing::kLength);
  writer_.add_text(std::move(body));
  write();
}

void Exchange::begin_stream(const ReplyHead& head) noexcept {
  if (!is_running_) return;
  about_to_answer(head.http_status, writer_.stream_framing());
  writer_.begin_stream(head, request_.answer_lines());
  write();
}

void Exchange::stream(std::string bytes) noexcept {
  if (!is_running_ || bytes.empty()) return;
  writer_.stream(std::move(bytes));
  write();
}

void Exchange::end_stream() noexcept {
  if (!is_running_) return;
  writer_.end_stream();
  write();
}

void Exchange::cut() noexcept { connection_.close(); }

void Exchange::write() noexcept {
  if (writer_.is_blocked()) return;
  while (send()) {
    if (!writer_.is_streaming()) return finish();
    if (const size_t bytes = writer_.take_streamed_bytes(); bytes != 0 && call_ != nullptr) {
      call_->on_stream_written(bytes);
      if (!is_running_) return;
    }
    const AnswerWriter::Next next = writer_.next_of_stream();
    if (next == AnswerWriter::Next::kEnd) return finish();
    deadline_.expect_nothing();                           // until the socket takes no more
    if (next == AnswerWriter::Next::kNothingYet) return;  // the model's turn
  }
}

bool Exchange::send() noexcept {
  size_t bytes = 0;
  const AnswerWriter::Sent sent = writer_.send(socket_.bytes(), &bytes);
  if (bytes != 0) deadline_.progress(bytes);
  if (sent == AnswerWriter::Sent::kBroken) connection_.close();
  if (sent == AnswerWriter::Sent::kBlocked) {
    deadline_.await_progress();
    socket_.watch(EPOLLOUT);
  }
  return sent == AnswerWriter::Sent::kAll;
}

void Exchange::finish() noexcept {
  writer_.end();
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_written();
  request_.end();
  is_running_ = false;
  connection_.on_answered();
}

void Exchange::end_call(Ending ending) noexcept {
  if (!is_running_) return;
  if (ending == Ending::kSoon) {
    if (call_ != nullptr) call_->on_closing_soon();
    return;
  }
  if (writer_.has_begun()) return;
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_gone();
  writer_.stop_keeping_alive();
  ReplyHead head{.http_status = 503};
  std::string body = worker_.server.application.refusal_body(kGivenUp, head);
  answer_text(head, std::move(body));
}

void Exchange::drop() noexcept {
  is_running_ = false;
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_gone();
  request_.end();
}

}  // namespace atl::frontends::http
