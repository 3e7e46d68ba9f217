/// One gRPC call on one connection: what came with it, and the way back.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/call.h"
#include "frontends/grpc_nghttp2/transport/call_headers.h"
#include "frontends/grpc_nghttp2/transport/frames/length_scanner.h"
#include "frontends/grpc_nghttp2/transport/frames/message_reader.h"
#include "frontends/grpc_nghttp2/transport/message_queue.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {

class Session;

/// Calls of one connection whose work is not done, those included that their client has reset: resetting them
/// brings no room for others. Of the connection's thread.
class RunningCalls : public boost::intrusive_ref_counter<RunningCalls, boost::thread_unsafe_counter> {
 public:
  uint32_t count = 0;
};
/// One of them.
class CallTicket {
 public:
  CallTicket() noexcept = default;
  explicit CallTicket(boost::intrusive_ptr<RunningCalls> calls) noexcept : calls_(std::move(calls)) {
    ++calls_->count;
  }
  CallTicket(CallTicket&&) noexcept = default;
  CallTicket& operator=(CallTicket&& other) noexcept {
    release();
    calls_ = std::move(other.calls_);
    return *this;
  }
  ~CallTicket() { release(); }
  void release() noexcept {
    if (calls_ != nullptr) --calls_->count;
    calls_.reset();
  }

 private:
  boost::intrusive_ptr<RunningCalls> calls_;
};

/// Everything runs on the connection's thread. A call answers once: with answer(), or with any number of send()
/// and finish(). After that, or after Call::on_gone(), it uses this no more.
class CallStream final
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
      private Timer {
 public:
  /// A list of headers that is so many times longer than allowed ends the connection.
  static constexpr uint64_t kMuchTooLong = 4;
  /// What a call takes beside its headers and messages: this, nghttp2's part and the places of its headers, about.
  static constexpr uint64_t kOwnBytes = uint64_t{2} << 10;

  CallStream() noexcept = default;
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;
  virtual ~CallStream() = default;

  // --- what came ---
  /// All but what is the transport's own (pseudo headers, te, content-type, grpc-...). Binary values are decoded.
  const HeaderList& metadata() const noexcept { return headers_.metadata; }
  MessageEncoding encoding() const noexcept { return headers_.encoding; }
  bool client_accepts(MessageEncoding encoding) const noexcept {
    return (headers_.accepted & static_cast<uint32_t>(encoding)) != 0;
  }
  /// On the loop's clock; 0: none. When it has passed, the transport answers.
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  /// When the headers had come.
  int64_t began_ns() const noexcept { return began_ns_; }
  /// "ipv4:192.0.2.1:50000"
  std::string peer() const;
  EventLoop& loop() noexcept;
  /// Where the memory of a message goes back to, and comes from.
  BufferPool& buffers() noexcept;
  /// To be held as long as the call takes memory or time.
  CallTicket take_ticket() noexcept { return std::move(ticket_); }

  // --- the call ---
  /// Who is told of what happens. Before begin() returns, unless the stream is ended there.
  void attach(Call& call) noexcept { call_ = &call; }
  /// The next message is wanted, or to know that none comes. It may be told before this returns.
  void read_next() noexcept;
  /// Whether messages are being given to the call: the one that read_next() asks for then comes after that.
  bool is_reading() const noexcept { return is_reading_; }
  /// How messages of the answer may be compressed. Before the first one.
  void set_answer_encoding(MessageEncoding encoding) noexcept { answer_encoding_ = encoding; }
  /// The one message, and OK.
  void answer(OutgoingMessage& message) noexcept;
  /// One message of several.
  void send(OutgoingMessage& message) noexcept;
  /// Before finish(). \param name  in lower case \param value  any bytes, if the name ends with "-bin"
  void add_trailer(std::string_view name, std::string_view value);
  /// What was sent goes first. \param code  of gRPC \param text  as it is; it becomes percent codes here
  void finish(int code, std::string_view text) noexcept;

  /// Ends it without an answer; what was sent may be dropped. Its call hears that the client has gone.
  void cancel() noexcept;

  // --- the session ---
  void start(Session& session, int32_t id) noexcept;
  int32_t id() const noexcept { return id_; }
  /// False: the list is so much too long that the connection is to end.
  bool on_header(std::string_view name, std::string_view value) noexcept;
  /// The same for one that is not used.
  bool count_header(std::string_view name, std::string_view value) noexcept;
  /// All headers at once: those of a call before.
  void on_repeated_headers(const CallHeaders& headers, std::string_view path);
  /// The headers are complete.
  void on_headers() noexcept;
  /// Whether they are those of a call that may be run, and what they say.
  bool has_good_headers() const noexcept {
    return refusal_code_ == 0 && headers_.is_post && headers_.has_te && method_ != nullptr;
  }
  const CallHeaders& headers() const noexcept { return headers_; }
  void on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// Where the next data of a large message go.
  MessageRoom message_room() noexcept;
  /// Where so many of several messages have ended in the next data; 0: not before the last byte.
  size_t messages_end(size_t count, std::span<const uint8_t> data) const noexcept {
    return method_ != nullptr && method_->reads_several ? arrived_.end_of(count, data) : 0;
  }
  void on_remote_end() noexcept;
  bool remote_ended() const noexcept { return remote_ended_; }
  bool is_answered() const noexcept { return ended_; }
  /// A message of it has come whole, and was taken.
  bool has_whole_message() const noexcept { return has_message_; }
  /// It is reset for what its client did before; that the client resets it, too, is no further news.
  void refuse() noexcept { has_message_ = true; }
  /// Part of a message waits to be sent.
  bool has_unsent() const noexcept { return !messages_.empty(); }
  /// \param most  calls of this without progress that a transfer survives
  void end_if_stalled(uint32_t most) noexcept;
  /// A frame's data. \returns as nghttp2's callback
  ssize_t read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept;
  /// Puts the data of a frame that was not copied into the queue.
  void take_data(size_t length, OutQueue* to) { messages_.take(length, to); }
  /// How messages of the answer are compressed.
  MessageEncoding answer_encoding() const noexcept { return answer_encoding_; }
  /// Of a call that has ended.
  int code() const noexcept { return code_; }
  bool sends_large() const noexcept { return messages_.sends_large(); }
  /// The stream is no more. Ready for the next one then.
  void on_closed() noexcept;

 private:
  void on_time() noexcept override;
  void read_pseudo_header(std::string_view name, std::string_view value) noexcept;
  bool read_grpc_header(std::string_view name, std::string_view value) noexcept;
  void add_metadata(std::string_view name, std::string_view value);
  void refuse_header(int code, std::string text) noexcept;
  /// Why the headers alone end the call.
  bool is_refused() noexcept;
  void drop_metadata() noexcept;
  void begin_method(Message message) noexcept;
  MessageLimits limits() const noexcept;
  void count_messages(std::span<const uint8_t> bytes) noexcept;
  void on_whole_message() noexcept;
  /// Errors: RESOURCE_EXHAUSTED what this holds is too much for all requests together.
  Status hold(uint64_t bytes) noexcept;
  Status hold_partial_message() noexcept {
    return hold(kOwnBytes + headers_.list_bytes + reader_.uncounted_bytes());
  }
  void end_early(int code, std::string_view text) noexcept;
  void read_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// \returns what is left because no message is wanted now
  std::span<const uint8_t> take_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  void keep_unread(std::span<const uint8_t> bytes) noexcept;
  void fail(const Status& status) noexcept;
  void submit() noexcept;
  void submit_headers_only() noexcept;
  /// The fields that say how it ended.
  void add_end(std::vector<nghttp2_nv>* fields) const;
  void let_call_go() noexcept;

  Session* session_ = nullptr;
  int32_t id_ = 0;
  Call* call_ = nullptr;
  Method* method_ = nullptr;
  CallTicket ticket_;

  // The request.
  CallHeaders headers_;
  bool begun_ = false;  ///< the method was told
  bool remote_ended_ = false;
  bool has_message_ = false;  ///< a whole one was taken
  int64_t deadline_ns_ = 0;
  int64_t began_ns_ = 0;
  int refusal_code_ = 0;  ///< of the headers; 0: none
  std::string refusal_;
  MessageReader reader_;
  uint64_t held_bytes_ = 0;  ///< of the connection's HeldBytes
  uint64_t held_metadata_bytes_ = 0;
  uint64_t received_bytes_ = 0;  ///< of data, about
  StallWatch receiving_;

  // Of methods with several messages.
  bool wants_next_ = false;
  bool is_reading_ = false;
  LengthScanner<5, 1, 4> arrived_;  ///< messages, read or not
  BodyBuffer unread_;
  size_t unread_at_ = 0;
  RequestCharge unread_charge_;

  // The answer.
  MessageQueue messages_;
  MessageEncoding answer_encoding_ = MessageEncoding::kIdentity;
  StallWatch sending_;
  bool submitted_ = false;
  bool deferred_ = false;
  bool ended_ = false;  ///< by the call or for it: nothing is added any more
  int code_ = 0;
  std::string text_;
  std::vector<std::pair<std::string, std::string>> trailers_;
};

}  // namespace atl::frontends::grpc_nghttp2
