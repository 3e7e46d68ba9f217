/// One trace while its requests are under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "atoll/core/clock.h"
#include "atoll/core/gate.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/request/trace.h"
#include "telemetry/trace/record.h"

namespace atl::tracing {

/// Takes finished records. [any]
class RecordSink {
 public:
  /// Must not block.
  virtual void submit(std::unique_ptr<Record> record) noexcept = 0;

 protected:
  ~RecordSink() = default;
};

/// What all traces of a service share; outlives them.
struct RecorderContext {
  RecordSink& sink;
  const Clock& clock;
  IdSource& ids;
  std::atomic<uint64_t>& next_id;  ///< of traces, unique in the server
  bool spans = false;              ///< OpenTelemetry: there is a context to hand on, and no tensors
  uint64_t tensor_bytes_max = 0;
  uint64_t trace_bytes_max = 0;
  const DeviceMemory* devices = nullptr;  ///< reaches tensors in device memory
};

/// The record of one trace and the requests that write into it. It submits the record and ends when the last
/// of them is released. The lock is this trace's alone.
class Recorder {
 public:
  /// Most moments and tensors that one trace keeps: a stream of a million responses is one trace too.
  static constexpr uint64_t kEventsMax = 4096;
  /// Bytes of a moment's own name; what is longer is cut.
  static constexpr uint64_t kNameMax = 256;
  /// Most requests (ensemble steps) that one trace keeps.
  static constexpr uint64_t kRequestsMax = 1024;

  /// \param pass  keeps the plugin active until the trace is over.
  /// \param parent  an incoming context; null: none.
  /// \returns the client's request, which owns the recorder; ended by its release().
  static Trace* begin(const RecorderContext& context, Pass pass, std::shared_ptr<Scope> scope,
                      Sampled sampled, const TraceContext* parent, std::string_view tracestate,
                      std::string_view model, int64_t version, std::string_view request_id) noexcept;

 private:
  class RequestTrace;

  Recorder(const RecorderContext& context, Pass pass) noexcept;
  RequestTrace* add_request(uint64_t parent_id, std::string_view model, int64_t version,
                            std::string_view request_id) noexcept;
  /// \param own_name  copied; empty: the activity's
  void add_moment(RecordedRequest& request, TraceActivity activity, std::string_view own_name,
                  int64_t timestamp_ns) noexcept;
  void add_tensor(RecordedRequest& request, TraceActivity activity, std::string_view name, DataType datatype,
                  std::span<const int64_t> shape, std::span<const Buffer> buffers) noexcept;
  bool admit_event() noexcept;
  void release() noexcept;
  bool wants(Level level) const noexcept { return (level_ & level) != 0; }

  const RecorderContext context_;
  Pass pass_;
  uint32_t level_ = kOff;
  std::mutex mutex_;  // guards the record and the counts
  std::unique_ptr<Record> record_;
  uint64_t events_ = 0;
  uint64_t tensor_bytes_ = 0;
  uint32_t open_requests_ = 0;
};

}  // namespace atl::tracing
