/// One call to another server.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc_nghttp2/transport/call/message_queue.h"
#include "frontends/grpc_nghttp2/transport/frames/message_reader.h"

namespace atl::frontends::grpc_nghttp2 {

class ClientConnection;

/// How a call ended.
struct ClientEnd {
  int code = 0;  ///< of gRPC
  std::string text;
  std::vector<std::pair<std::string, std::string>>
      trailers;  ///< of the service, with their bytes as they are
};

/// Who makes a call. [loop]
class ClientCall {
 public:
  /// The message that read_next() asked for.
  virtual void on_client_message(Message message) noexcept = 0;
  /// Behind the last message, in place of the one that read_next() asked for. Nothing more is told.
  virtual void on_client_end(ClientEnd end) noexcept = 0;

 protected:
  ~ClientCall() = default;
};

/// [loop]
class ClientStream final : public std::enable_shared_from_this<ClientStream> {
 public:
  ClientStream(ClientConnection& connection, ClientCall& call) noexcept
      : connection_(&connection), call_(&call) {}
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // --- of who makes the call, until it is told the end ---
  /// \param message  is told that it was sent, also if it was dropped; it may be after the end of the call
  void send(OutgoingMessage& message) noexcept;
  void end_sending() noexcept;
  /// One message is wanted; it may be told before this returns. What is not wanted slows the other server down.
  void read_next() noexcept;
  /// The other server hears that nobody waits for it, and nothing more is told.
  void cancel() noexcept;

  // --- of its connection ---
  void start(int32_t id) noexcept { id_ = id; }
  void on_begin_headers() noexcept { fields_.clear(); }
  void on_header(std::string_view name, std::string_view value) { fields_.emplace_back(name, value); }
  void on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  void on_remote_end() noexcept;
  /// It is no more. \param error_code  of HTTP/2
  void on_closed(uint32_t error_code) noexcept;
  void on_lost(const Status& reason) noexcept;
  ssize_t read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept;
  MessageQueue& messages() noexcept { return messages_; }

 private:
  void deliver() noexcept;
  void keep_trailers() noexcept;
  void end(int code, std::string text) noexcept;
  void reset(uint32_t error_code) noexcept;

  ClientConnection* connection_;  ///< null: the stream is no more
  ClientCall* call_;              ///< null: nobody waits
  int32_t id_ = 0;

  MessageQueue messages_;
  bool deferred_ = false;
  bool ends_sending_ = false;
  bool sent_all_ = false;

  std::vector<std::pair<std::string, std::string>> fields_;  ///< of the newest list of headers
  MessageReader reader_;
  std::deque<Message> received_;  ///< that nobody has asked for
  uint64_t unconsumed_bytes_ = 0;
  bool wants_next_ = false;
  bool is_delivering_ = false;
  bool is_ended_ = false;
  ClientEnd end_;
};

}  // namespace atl::frontends::grpc_nghttp2
