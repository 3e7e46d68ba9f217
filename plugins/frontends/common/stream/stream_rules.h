/// The rules of a stream of requests and answers, whatever transport carries it.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace atl::frontends {

/// How much a stream may have in hand.
struct StreamLimits {
  uint32_t requests = 0;       ///< in flight
  uint64_t backlog_bytes = 0;  ///< of what was received and of answers that wait to be written
  uint64_t answers = 0;        ///< of one request that wait to be written, if its model sends many
};

/// Decides what a stream reads, writes and waits for next; the transport does it, and brings what came of it.
///
/// Answers of requests that keep their order leave in that order, whatever finishes first; the others leave
/// as they come. One message is written at a time, and one read. A stream that has too much in hand reads no
/// further request until that is less, so a client that does not read its answers cannot make the server's
/// memory grow. A request that waits for its model holds those behind it, so that models get them in their
/// order.
///
/// A stream is over when the client has sent its last request and every request is answered; or when it is
/// ended before. Then its requests are cancelled and what they still answer is dropped.
///
/// Not thread safe: under its stream's lock, as are the places. No call back.
/// \tparam Request  has a member `place` of type Place
/// \tparam Message  default constructible, with Swap(Message*) and Clear()
template <class Request, class Message>
class StreamRules {
 public:
  /// What a request has in its stream.
  struct Place {
    Request* previous = nullptr;
    Request* next = nullptr;
    Request* next_ordered = nullptr;
    Message held;  ///< an answer whose turn has not come
    uint64_t held_bytes = 0;
    uint64_t received_bytes = 0;
    uint32_t unwritten = 0;  ///< answers
    bool keeps_order = false;
    bool is_held = false;
    bool is_answered = false;
  };
  struct Answer {
    Message message;
    Request* request = nullptr;  ///< null: nobody waits for it any more
    uint64_t bytes = 0;
  };
  enum class Push {
    kQueued,   ///< or dropped, because the stream has ended
    kTooMuch,  ///< nothing was done: too much waits to be written already
  };

  explicit StreamRules(const StreamLimits& limits) noexcept : limits_(limits) {}

  // --- what is to be done now; true, or not null: do it ---
  /// Read the next request.
  bool begin_read() noexcept {
    if (is_reading_ || holds_ != 0 || read_all_ || ended_ || in_flight_ >= limits_.requests ||
        received_bytes_ + unwritten_bytes_ >= limits_.backlog_bytes) {
      return false;
    }
    is_reading_ = true;
    return true;
  }
  /// Write this answer. It stays where it is until end_write().
  Answer* begin_write() noexcept {
    if (is_writing_ || is_finishing_ || answers_.empty()) return nullptr;
    is_writing_ = true;
    Answer& next = answers_.front();
    writing_.message.Swap(&next.message);
    writing_.request = next.request;
    writing_.bytes = next.bytes;
    answers_.pop_front();
    return &writing_;
  }
  /// Tell the client the end.
  bool begin_finish() noexcept {
    if (is_finishing_ || is_writing_) return false;
    if (ended_ ? !answers_.empty() : !(read_all_ && in_flight_ == 0)) return false;
    is_finishing_ = true;
    return true;
  }
  /// Nothing is under way any more.
  bool is_quiet() const noexcept { return !is_reading_ && !is_writing_ && in_flight_ == 0; }

  // --- what came of it ---
  /// \param ok  false: the client has sent its last request. \returns whether one came that is to be added
  bool end_read(bool ok) noexcept {
    is_reading_ = false;
    read_all_ = read_all_ || !ok;
    return ok && !ended_;
  }
  /// The request that was read, with place.received_bytes set. \returns false: it is not to run before
  /// resume(), which gives it back
  bool add(Request& request) noexcept {
    ++in_flight_;
    received_bytes_ += request.place.received_bytes;
    request.place.next = answering_;
    if (answering_ != nullptr) answering_->place.previous = &request;
    answering_ = &request;
    if (holds_ != 0) behind_ = &request;
    return holds_ == 0;
  }
  /// \param ok  false: it did not get there; the stream is to be ended
  /// \returns the request if that was its last answer, else null
  Request* end_write(bool ok) noexcept {
    is_writing_ = false;
    unwritten_bytes_ -= std::exchange(writing_.bytes, 0);
    writing_.message.Clear();
    Request* request = std::exchange(writing_.request, nullptr);
    if (!ok || request == nullptr) return nullptr;
    if (--request->place.unwritten != 0 || !request->place.is_answered) return nullptr;
    unlink(*request);
    return request;
  }
  /// What is being written, until end_write(); for who keeps its memory.
  Message& written() noexcept { return writing_.message; }
  /// Whose answer is being written; null: nobody's.
  Request* writing() const noexcept { return writing_.request; }
  /// The request needs its place no more.
  void remove(uint64_t received_bytes) noexcept {
    --in_flight_;
    received_bytes_ -= received_bytes;
  }

  // --- requests ---
  /// The request's turn among the answers that keep their order is now.
  void keep_order(Request& request) noexcept {
    if (ended_) return;
    request.place.keeps_order = true;
    if (ordered_front_ == nullptr) {
      ordered_front_ = &request;
    } else {
      ordered_back_->place.next_ordered = &request;
    }
    ordered_back_ = &request;
  }
  /// \param message  taken
  /// \param bytes    that it takes while it waits
  /// \param last     the request's last answer
  /// \param bounded  refuse if too much waits; for models that answer without being asked
  Push push(Request& request, Message* message, uint64_t bytes, bool last, bool bounded) noexcept {
    if (ended_) return Push::kQueued;
    if (bounded &&
        (request.place.unwritten >= limits_.answers || unwritten_bytes_ >= limits_.backlog_bytes)) {
      return Push::kTooMuch;
    }
    unwritten_bytes_ += bytes;
    request.place.is_answered = last;
    if (!request.place.keeps_order) {
      queue(request, message, bytes);
      return Push::kQueued;
    }
    request.place.held.Swap(message);
    request.place.held_bytes = bytes;
    request.place.is_held = true;
    while (ordered_front_ != nullptr && ordered_front_->place.is_held) {
      Request& front = *ordered_front_;
      ordered_front_ = front.place.next_ordered;
      queue(front, &front.place.held, std::exchange(front.place.held_bytes, 0));
    }
    return Push::kQueued;
  }
  /// The request has no more answers than were pushed. \returns true: they are all written
  bool answered(Request& request) noexcept {
    if (ended_) return false;
    request.place.is_answered = true;
    if (request.place.unwritten > 0) return false;
    unlink(request);
    return true;
  }
  /// The request that runs waits for its model, or something else does not take further ones.
  void hold() noexcept { ++holds_; }
  /// One of those who hold waits no more. \returns the request behind, which is to run; null: there is none, or it
  /// still waits
  Request* resume() noexcept {
    if (holds_ > 0) --holds_;
    return holds_ == 0 ? std::exchange(behind_, nullptr) : nullptr;
  }
  /// All requests that will come have come and run.
  bool has_run_all() const noexcept { return read_all_ && holds_ == 0 && behind_ == nullptr; }

  // --- the end before its time ---
  bool has_ended() const noexcept { return ended_; }
  /// \returns the requests that are to be cancelled; of those nobody else is told that they are written
  std::vector<Request*> end() noexcept {
    ended_ = true;
    for (Answer& answer : answers_) answer.request = nullptr;
    writing_.request = nullptr;
    ordered_front_ = nullptr;
    std::vector<Request*> cancelled;
    while (answering_ != nullptr) {
      Request& request = *answering_;
      cancelled.push_back(&request);
      unlink(request);
      unwritten_bytes_ -= std::exchange(request.place.held_bytes, 0);
      request.place.held.Clear();
    }
    return cancelled;
  }
  /// What waits is not written any more.
  void drop_answers() noexcept {
    for (const Answer& answer : answers_) unwritten_bytes_ -= answer.bytes;
    answers_.clear();
  }

 private:
  void queue(Request& request, Message* message, uint64_t bytes) noexcept {
    ++request.place.unwritten;
    Answer& queued = answers_.emplace_back();
    queued.message.Swap(message);
    queued.request = &request;
    queued.bytes = bytes;
  }
  void unlink(Request& request) noexcept {
    Place& place = request.place;
    if (place.previous == nullptr) {
      answering_ = place.next;
    } else {
      place.previous->place.next = place.next;
    }
    if (place.next != nullptr) place.next->place.previous = place.previous;
    place.previous = place.next = nullptr;
  }

  const StreamLimits limits_;
  std::deque<Answer> answers_;
  Answer writing_;
  Request* answering_ = nullptr;      ///< list of requests with answers to come
  Request* ordered_front_ = nullptr;  ///< list of those that keep their order
  Request* ordered_back_ = nullptr;   ///< of no meaning while there is none
  Request* behind_ = nullptr;         ///< came while the stream holds; no further one is read
  uint64_t received_bytes_ = 0;       ///< of requests in flight
  uint64_t unwritten_bytes_ = 0;      ///< of answers, also of those that wait for their turn
  uint32_t in_flight_ = 0;            ///< requests whose place is needed
  uint32_t holds_ = 0;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool read_all_ = false;
  bool ended_ = false;  ///< before its time
  bool is_finishing_ = false;
};

}  // namespace atl::frontends
