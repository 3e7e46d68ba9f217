/// What is served over the transport: methods, and the calls that they begin.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "frontends/grpc_nghttp2/transport/message.h"

namespace atl::frontends::grpc_nghttp2 {

class CallStream;

/// One call, as its stream sees it. Everything here runs on the connection's thread. A call that was attached
/// to a stream is told of one of the two: that the client has gone, or, through the messages it sends, that
/// these are written.
class Call {
 public:
  /// Of methods with several messages: the one that was asked for.
  virtual void on_message(Message /*message*/) noexcept {}
  /// The client sends no more; told when on_message() would have been.
  virtual void on_half_close() noexcept {}
  /// The client has gone, its deadline has passed, or the connection is lost. The stream is not to be used any
  /// more. Not told after the call has ended its stream.
  virtual void on_gone() noexcept = 0;

 protected:
  ~Call() = default;
};

/// Outlives the calls.
class Method {
 public:
  /// Largest message, as it comes.
  uint64_t max_message_bytes = 0;
  /// Whether the client sends several messages. begin() then comes with the headers, else with the first and
  /// only message.
  bool reads_several = false;

  /// A call has come. Attaches one to the stream, or ends it. \param message  empty if reads_several
  virtual void begin(CallStream& stream, Message message) noexcept = 0;

 protected:
  ~Method() = default;
};

/// The methods as one thread has them. All on that thread, but for construction and end.
class MethodFinder {
 public:
  virtual ~MethodFinder() = default;
  /// \param path  "/service/method" \returns null: there is none
  virtual Method* find(std::string_view path) noexcept = 0;
};

class ServingThread;

/// What is served. Outlives its server.
class Application {
 public:
  /// [control] One for each thread, before it runs. Ended on [control] when the thread has ended.
  virtual std::unique_ptr<MethodFinder> make_methods(ServingThread& worker) = 0;

 protected:
  ~Application() = default;
};

}  // namespace atl::frontends::grpc_nghttp2
