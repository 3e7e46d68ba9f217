/// One HTTP/2 connection with a number of ModelStreamInfer calls, each with so many requests in flight.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// A request that was answered.
struct Completion {
  /// Microseconds since the epoch.
  int64_t start_us;
  int64_t latency_us;
};

/// Knows the protocol, not the socket. On each call a further request follows as soon as an answer has arrived
/// whole, which is taken for that of the request that waits longest. All answers have to be the same bytes; anything else is a failure.
class StreamSession {
 public:
  /// `message` is one gRPC message with its five bytes of head; it has to live as long as the session.
  StreamSession(const std::string& authority, const std::string& path, const std::string& message,
                int streams, int in_flight);

  /// Bytes from the server. False: the connection is of no use any more, and `failure` says why.
  bool receive(const uint8_t* bytes, size_t size);
  /// Adds what is to be sent to `out`.
  bool collect(std::string* out);

  /// No further request follows an answer; each call ends once it has its own.
  void stop() { stopped_ = true; }
  /// After stop(): every call has ended with status OK.
  bool over() const { return open_ == 0; }

  const std::vector<Completion>& completions() const { return completions_; }
  /// The first answer, head included; empty before it came.
  const std::string& answer() const { return answer_; }
  /// Empty: none so far.
  const std::string& failure() const { return failure_; }

 private:
  struct Stream {
    size_t sent = 0;  ///< of the first message to be sent
    int to_send = 0;
    std::string received;
    std::deque<int64_t> starts_us;  ///< of the requests without an answer
    int32_t id = 0;
    bool done = false;
  };
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  static ssize_t on_read(nghttp2_session* session, int32_t id, uint8_t* buffer, size_t room, uint32_t* flags,
                         nghttp2_data_source* source, void* self);
  static int on_data(nghttp2_session* session, uint8_t flags, int32_t id, const uint8_t* data, size_t size,
                     void* self);
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t flags, void* self);
  static int on_close(nghttp2_session* session, int32_t id, uint32_t error, void* self);

  void open_session(const std::string& authority, const std::string& path);
  void add_request(Stream& stream, int64_t now);
  void take_answer(Stream& stream);
  void fail(std::string reason);

  const std::string& message_;
  std::vector<Stream> streams_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::vector<Completion> completions_;
  std::string answer_;
  std::string failure_;
  size_t open_ = 0;
  bool stopped_ = false;
};

}  // namespace bench
