#include "telemetry/trace/recorder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace atl::tracing {
namespace {

/// Copies the first bytes of the buffer behind the others. \returns how many: all of them, or none where they
/// cannot be reached
uint64_t append(const Buffer& buffer, uint64_t size_bytes, const DeviceMemory* devices,
                std::string* bytes) noexcept {
  if (size_bytes == 0) return 0;
  if (is_host_ready(buffer)) {
    bytes->append(static_cast<const char*>(buffer.data), size_bytes);
    return size_bytes;
  }
  const size_t before = bytes->size();
  bytes->resize(before + size_bytes);
  Buffer from = buffer, to;
  to.data = bytes->data() + before;
  from.size_bytes = to.size_bytes = size_bytes;
  if ((devices == nullptr ? copy_on_host(to, from) : devices->copy(to, from)).ok()) return size_bytes;
  bytes->resize(before);
  return 0;
}

}  // namespace

/// One request's hold on the recorder.
class Recorder::RequestTrace final : public Trace {
 public:
  RequestTrace(Recorder& recorder, RecordedRequest& request) noexcept
      : recorder_(recorder), request_(request), id_(request.id) {
    const Record& record = *recorder.record_;
    if (recorder.context_.spans) traceparent_ = format_traceparent({record.trace_id, request.span});
  }

  uint64_t id() const noexcept override { return id_; }
  void report(TraceActivity activity, int64_t timestamp_ns) noexcept override {
    recorder_.add_moment(request_, activity, {}, timestamp_ns);
  }
  void report_named(const char* name, int64_t timestamp_ns) noexcept override {
    recorder_.add_moment(request_, TraceActivity::kCustomActivity, name, timestamp_ns);
  }
  void report_tensor(TraceActivity activity, std::string_view name, DataType datatype,
                     std::span<const int64_t> shape, std::span<const Buffer> buffers) noexcept override {
    if (wants_tensors()) recorder_.add_tensor(request_, activity, name, datatype, shape, buffers);
  }
  std::string_view traceparent() const noexcept override { return traceparent_; }
  Trace* spawn_child(std::string_view model, int64_t version, std::string_view request_id) noexcept override {
    return recorder_.add_request(id_, model, version, request_id);
  }
  void release() noexcept override {
    Recorder& recorder = recorder_;
    delete this;
    recorder.release();
  }
  bool wants_tensors() const noexcept override {
    return recorder_.wants(kTensors) && !recorder_.context_.spans;
  }

 private:
  Recorder& recorder_;
  RecordedRequest& request_;
  const uint64_t id_;
  std::string traceparent_;
};

Recorder::Recorder(const RecorderContext& context, Pass pass) noexcept
    : context_(context), pass_(std::move(pass)), record_(std::make_unique<Record>()) {}

Trace* Recorder::begin(const RecorderContext& context, Pass pass, std::shared_ptr<Scope> scope,
                       Sampled sampled, const TraceContext* parent, std::string_view tracestate,
                       std::string_view model, int64_t version, std::string_view request_id) noexcept {
  auto* recorder = new Recorder(context, std::move(pass));
  Record& record = *recorder->record_;
  recorder->level_ = scope->values().level;
  record.scope = std::move(scope);
  record.sampled = sampled;
  record.start_ns = context.clock.now_ns();
  record.wall_offset_ns = context.clock.wall_ns() - record.start_ns;
  record.size_bytes = sizeof(Recorder) + sizeof(Record);
  if (context.spans) {
    record.trace_id = parent != nullptr ? parent->trace_id : context.ids.trace_id();
    record.root_span = context.ids.span_id();
    if (parent != nullptr) {
      record.remote_parent = parent->span_id;
      record.tracestate = checked_tracestate(tracestate);
    }
  }
  return recorder->add_request(0, model, version, request_id);
}

Recorder::RequestTrace* Recorder::add_request(uint64_t parent_id, std::string_view model, int64_t version,
                                              std::string_view request_id) noexcept {
  std::lock_guard lock(mutex_);
  Record& record = *record_;
  if (record.requests.size() >= kRequestsMax) {
    ++record.dropped_events;
    return nullptr;
  }
  RecordedRequest& request = record.requests.emplace_back();
  request.id = context_.next_id.fetch_add(1, std::memory_order_relaxed);
  request.parent_id = parent_id;
  request.model = model;
  request.version = version;
  request.request_id = request_id;
  if (context_.spans) request.span = context_.ids.span_id();
  record.size_bytes += sizeof request + model.size() + request_id.size();
  ++open_requests_;
  return new RequestTrace(*this, request);
}

bool Recorder::admit_event() noexcept {
  if (events_ < kEventsMax) {
    ++events_;
    record_->size_bytes += sizeof(RecordedEvent);
    return true;
  }
  ++record_->dropped_events;
  return false;
}

void Recorder::add_moment(RecordedRequest& request, TraceActivity activity, std::string_view own_name,
                          int64_t timestamp_ns) noexcept {
  if (!wants(kTimestamps)) return;
  if (timestamp_ns == 0) timestamp_ns = context_.clock.now_ns();
  std::lock_guard lock(mutex_);
  if (!admit_event()) return;
  RecordedEvent& event = request.events.emplace_back();
  event.activity = activity;
  event.own_name = own_name.substr(0, kNameMax);
  record_->size_bytes += event.own_name.size();
  event.timestamp_ns = timestamp_ns;
}

void Recorder::add_tensor(RecordedRequest& request, TraceActivity activity, std::string_view name,
                          DataType datatype, std::span<const int64_t> shape,
                          std::span<const Buffer> buffers) noexcept {
  auto tensor = std::make_unique<RecordedTensor>();
  tensor->name = name;
  tensor->datatype = datatype;
  tensor->shape.assign(shape.begin(), shape.end());
  std::lock_guard lock(mutex_);
  if (!admit_event()) return;
  uint64_t left = std::min(context_.tensor_bytes_max, context_.trace_bytes_max - tensor_bytes_);
  for (const Buffer& buffer : buffers) {
    const uint64_t size = append(buffer, std::min(left, buffer.size_bytes), context_.devices, &tensor->bytes);
    left -= size;
    if (size == buffer.size_bytes) continue;
    tensor->cut = true;
    break;
  }
  tensor_bytes_ += tensor->bytes.size();
  record_->size_bytes += sizeof(RecordedTensor) + name.size() + shape.size_bytes() + tensor->bytes.size();
  RecordedEvent& event = request.events.emplace_back();
  event.activity = activity;
  event.tensor = std::move(tensor);
}

void Recorder::release() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (--open_requests_ != 0) return;
  }
  record_->end_ns = context_.clock.now_ns();
  // The pass goes last: with it the plugin may be stopped, and the sink with it.
  std::unique_ptr<Recorder> self(this);
  context_.sink.submit(std::move(record_));
}

}  // namespace atl::tracing
