/// The part of a ModelStreamInfer call that another server answers: a call of its own to that server, whose messages go
/// to and fro as they are.
#pragma once

#include "atoll/core/status.h"

namespace atl::frontends {

/// [own thread] But for what cancels it: its request's cancellation.
class V2RemoteStream {
 public:
  V2RemoteStream() = default;
  V2RemoteStream(const V2RemoteStream&) = delete;
  V2RemoteStream& operator=(const V2RemoteStream&) = delete;
  virtual ~V2RemoteStream() = default;

  /// There is nothing more to write. Again, it does nothing.
  virtual void end_writing() noexcept = 0;
  /// The client has read something.
  virtual void resume_reading() noexcept = 0;
};

/// Whose stream it is. [own thread]
/// \tparam Message  of V2InferStream
template <class Message>
class RemoteStreamOwner {
 public:
  /// \param answer  taken, if it is \returns false: the client has not read enough of those before; resume_reading()
  /// says when to try again
  virtual bool on_remote_answer(Message* answer) noexcept = 0;
  /// No further requests are wanted until on_remote_room().
  virtual void on_remote_backlog() noexcept = 0;
  virtual void on_remote_room() noexcept = 0;
  /// No answers come any more, the cancellation is not used any more, and the stream may be destroyed.
  virtual void on_remote_end(const Status& status) noexcept = 0;

 protected:
  ~RemoteStreamOwner() = default;
};

}  // namespace atl::frontends
