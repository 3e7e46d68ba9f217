#include "telemetry/recorder/recording_queue.h"

#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::recorder {

Status RecordingQueue::start(ExecutorFactory& executors) noexcept {
  ATOLL_RETURN_IF_ERROR(file_.open(filter_, limits_));
  // The header shows at once whether the file can be written; a full disk does not keep the server from starting.
  if (Status status = file_.flush(); !status.ok()) end(status);
  written_bytes_.store(file_.written_bytes(), std::memory_order_relaxed);
  Result<SerialExecutorPtr> executor = executors.create("recorder", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  return {};
}

void RecordingQueue::stop() noexcept {
  if (executor_ == nullptr) return;
  stop_executor(executor_);
  write_all();
  file_.close();
}

void RecordingQueue::follow(const RecordingFilter& filter, const RecordingLimits& limits) noexcept {
  std::scoped_lock lock(mutex_);
  filter_ = filter;
  limits_ = limits;
  pending_bytes_max_.store(limits.pending_bytes_max, std::memory_order_relaxed);
}

void RecordingQueue::count_lost(Kind kind) noexcept {
  (kind == Kind::kRequest ? lost_.requests : lost_.responses).fetch_add(1, std::memory_order_relaxed);
}

bool RecordingQueue::admit(Kind kind, uint64_t bytes) noexcept {
  const uint64_t before = pending_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (!has_ended() && before + bytes <= pending_bytes_max_.load(std::memory_order_relaxed)) return true;
  pending_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  count_lost(kind);
  return false;
}

void RecordingQueue::add(Kind kind, uint64_t bytes, std::unique_ptr<recording::v1::Entry> entry) noexcept {
  bool is_first = false;
  {
    std::scoped_lock lock(mutex_);
    is_first = waiting_.empty();
    waiting_.push_back({kind, bytes, std::move(entry)});
  }
  if (!is_first || executor_ == nullptr) return;
  executor_->post({[](void* self) { static_cast<RecordingQueue*>(self)->write_all(); }, this, nullptr});
}

void RecordingQueue::write_all() noexcept {
  std::vector<Waiting> waiting;
  RecordingFilter filter;
  RecordingLimits limits;
  {
    std::scoped_lock lock(mutex_);
    waiting.swap(waiting_);
    filter = filter_;
    limits = limits_;
  }
  for (Waiting& one : waiting) {
    write(one, filter, limits);
    one.entry.reset();
    pending_bytes_.fetch_sub(one.bytes, std::memory_order_relaxed);
  }
  write_lost(filter, limits);
  if (has_ended()) return;
  if (Status status = file_.flush(); !status.ok()) end(status);
  written_bytes_.store(file_.written_bytes(), std::memory_order_relaxed);
}

void RecordingQueue::write(const Waiting& waiting, const RecordingFilter& filter,
                           const RecordingLimits& limits) noexcept {
  if (has_ended()) return count_lost(waiting.kind);
  Result<bool> added = file_.add(*waiting.entry, filter, limits);
  if (!added.ok()) end(added.status());
  if (!added.ok() || !added.value()) return count_lost(waiting.kind);
  if (waiting.entry->has_request()) requests_.fetch_add(1, std::memory_order_relaxed);
  if (waiting.entry->has_response()) responses_.fetch_add(1, std::memory_order_relaxed);
}

void RecordingQueue::write_lost(const RecordingFilter& filter, const RecordingLimits& limits) noexcept {
  const uint64_t requests = lost_.requests.load(std::memory_order_relaxed);
  const uint64_t responses = lost_.responses.load(std::memory_order_relaxed);
  if (has_ended() || (requests == told_requests_ && responses == told_responses_)) return;
  recording::v1::Entry entry;
  entry.mutable_lost()->set_requests(requests - std::exchange(told_requests_, requests));
  entry.mutable_lost()->set_responses(responses - std::exchange(told_responses_, responses));
  if (Result<bool> added = file_.add(entry, filter, limits); !added.ok()) end(added.status());
}

void RecordingQueue::end(const Status& reason) noexcept {
  has_ended_.store(true, std::memory_order_relaxed);
  file_.close();
  log_.error("the recording ends, the server goes on: ", reason.message());
}

void RecordingQueue::collect(MetricSink& sink) const noexcept {
  const auto counter = [&](std::string_view name, std::string_view help, uint64_t value) {
    sink.family(name, help, MetricKind::kCounter);
    sink.sample({}, static_cast<double>(value));
  };
  counter("atoll_recorded_requests_total", "Requests in the recording",
          requests_.load(std::memory_order_relaxed));
  counter("atoll_recorded_responses_total", "Responses in the recording",
          responses_.load(std::memory_order_relaxed));
  counter("atoll_recorded_bytes_total", "Bytes written to the recording's files",
          written_bytes_.load(std::memory_order_relaxed));
  counter("atoll_recording_lost_requests_total",
          "Requests that were to be recorded and are not in the recording",
          lost_.requests.load(std::memory_order_relaxed));
  counter("atoll_recording_lost_responses_total",
          "Responses, and ends of requests, that were to be recorded and are not in the recording",
          lost_.responses.load(std::memory_order_relaxed));
  sink.family("atoll_recording_active", "Whether requests are being recorded: 0 once the recording has ended",
              MetricKind::kGauge);
  sink.sample({}, has_ended() ? 0 : 1);
}

}  // namespace atl::recorder
