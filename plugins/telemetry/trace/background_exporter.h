/// Takes finished records off the request path: a bounded queue and a thread behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "telemetry/trace/record.h"
#include "telemetry/trace/recorder.h"
#include "telemetry/trace/slowest_traces.h"

namespace atl::tracing {

/// What has become of traces, since the start.
struct ExportCounts {
  std::atomic<uint64_t> exported{0};  ///< written or accepted by the collector
  std::atomic<uint64_t> dropped{0};   ///< lost: too many waiting, or no way to write them
};

/// Handing a record over is a push onto a list without a lock; the executor is woken by the first one only.
class BackgroundExporter : public RecordSink {
 public:
  BackgroundExporter(const Clock& clock, Log& log, ExportCounts& counts) noexcept
      : clock_(clock), log_(log), counts_(counts) {}
  BackgroundExporter(const BackgroundExporter&) = delete;
  BackgroundExporter& operator=(const BackgroundExporter&) = delete;
  virtual ~BackgroundExporter();

  /// Has the slowest of the traces that are exported kept, too. To be called before start(); outlives the exporter.
  void keep_in(SlowestTraces& traces) noexcept { slowest_ = &traces; }
  /// Starts the thread. Errors: those of ExecutorFactory::create.
  Status start(ExecutorFactory& executors) noexcept;
  /// Nobody submits any more: exports what is left, on this thread, until the deadline of the clock, and
  /// drops the rest. Does nothing if it was not started.
  void stop(int64_t deadline_ns) noexcept;
  /// Looks at scopes that have been retired. [any]
  void scopes_changed() noexcept { wake(); }

  void submit(std::unique_ptr<Record> record) noexcept final;

 protected:
  // --- on the executor, or, while it stops, on the thread that stops it ---
  /// Records came, in the order in which they were submitted, or scopes were retired; the list may be empty.
  /// Closes each record in its scope and later gives it to done().
  virtual void take(std::deque<std::unique_ptr<Record>> records) noexcept = 0;
  /// The last call: export everything now.
  virtual void flush(int64_t deadline_ns) noexcept = 0;
  /// stop() begins: a call that waits for something must end by then. [any]
  virtual void stop_waiting(int64_t /*deadline_ns*/) noexcept {}
  /// Whether a record may wait; it counts as waiting from then on, until done(). [any]
  virtual bool admit(const Record& record) noexcept = 0;
  virtual void forget(const Record& record) noexcept = 0;

  /// A record has been exported or not; frees it.
  void done(std::unique_ptr<Record> record, bool exported) noexcept;
  /// Logs a failure unless it is the same as the last one.
  void report_failure(const Status& failure);
  void report_success() { last_failure_.clear(); }

  SerialExecutor& executor() noexcept { return *executor_; }
  /// False while it stops: a timer would never fire.
  bool may_wait() const noexcept { return !stopping_.load(std::memory_order_relaxed); }
  const Clock& clock_;

 private:
  struct Link {
    std::unique_ptr<Record> record;
    Link* next;
  };
  void wake() noexcept;
  std::deque<std::unique_ptr<Record>> take_all() noexcept;
  void take_new() noexcept;
  /// Forgets traces that are too old, now and whenever one is.
  void forget_old() noexcept;

  Log& log_;
  ExportCounts& counts_;
  SlowestTraces* slowest_ = nullptr;  ///< null: none are kept
  bool forgets_later_ = false;        ///< a timer is set
  std::atomic<Link*> newest_{nullptr};
  std::atomic<bool> awake_{false};
  std::atomic<bool> stopping_{false};
  SerialExecutorPtr executor_;
  std::string last_failure_;
};

}  // namespace atl::tracing
