/// What the calls of one thread share.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "frontends/common/access/last_callers.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc_nghttp2/client/client_pool.h"
#include "frontends/grpc_nghttp2/transport/serving_thread.h"

namespace atl::frontends::grpc_nghttp2 {

class InferCall;
class InferStream;
class StreamAnswer;
class StreamRequest;

struct CallThread;

/// Looks now and then whether the callers of open streams still may have them. [loop]
class CallerWatch final : public Timer {
 public:
  explicit CallerWatch(CallThread& thread) noexcept : thread_(thread) {}
  ~CallerWatch() override = default;
  /// A stream begins.
  void begin() noexcept;
  void on_time() noexcept override;

 private:
  CallThread& thread_;
};

/// Lets credentials of before go. [loop]
class LastCallerSweep final : public Timer {
 public:
  explicit LastCallerSweep(CallThread& thread) noexcept : thread_(thread) {}
  ~LastCallerSweep() override = default;
  /// Something may be kept.
  void begin() noexcept;
  void on_time() noexcept override;

 private:
  CallThread& thread_;
};

struct CallThread {
  CallThread(GrpcCallContext& shared, ServingThread& worker) noexcept;
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;
  ~CallThread();

  GrpcCallContext& frontend;
  EventLoop& loop;
  BufferPool& buffers;
  ClientPool clients;  ///< to the servers that calls are passed on to
  std::vector<std::unique_ptr<InferCall>> idle_infer_calls;
  std::vector<std::unique_ptr<StreamRequest>> idle_stream_requests;
  std::vector<std::unique_ptr<StreamAnswer>> idle_stream_answers;
  std::set<std::shared_ptr<InferStream>> streams;  ///< those that are open
  std::atomic<size_t> open_streams{0};             ///< how many; [any]
  CallerWatch callers{*this};
  LastCallers last_callers;
  LastCallerSweep last_callers_sweep{*this};

  /// Ends every stream, as InferStream::shut_down().
  void end_streams(const Status& status) noexcept;
};

}  // namespace atl::frontends::grpc_nghttp2
