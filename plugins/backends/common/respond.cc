#include "common/respond.h"

#include <utility>

namespace atl::backends {

BatchResponder::~BatchResponder() {
  if (entries_.empty()) return;
  fail_all(internal_error("the backend dropped a batch without answering it"));
  finish({});
}

void BatchResponder::begin(const Batch& batch) {
  entries_.clear();
  entries_.reserve(batch.requests.size());
  for (Request* request : batch.requests) entries_.push_back({request, nullptr, {}});
}

void BatchResponder::fail(uint32_t i, Status failure) noexcept {
  if (entries_[i].error.ok()) entries_[i].error = std::move(failure);
}

void BatchResponder::fail_all(const Status& failure) noexcept {
  for (Entry& entry : entries_) {
    if (entry.error.ok()) entry.error = failure.clone();
  }
}

OutputTensor* BatchResponder::add_output(uint32_t i, uint32_t output_index, DataType datatype,
                                         std::span<const int64_t> shape, uint64_t size_bytes,
                                         MemoryKind preferred_kind, int64_t preferred_device_id) {
  Entry& entry = entries_[i];
  if (entry.response == nullptr) entry.response = entry.request->sink->new_response();
  OutputTensor& output = entry.response->add_output(entry.request->outputs[output_index], datatype, shape);
  Status status = entry.response->allocate(output, size_bytes, preferred_kind, preferred_device_id);
  if (!status.ok()) {
    fail(i, std::move(status));
    return nullptr;
  }
  return &output;
}

void BatchResponder::report(const Entry& entry, const ExecutionTimes& times) noexcept {
  if (entry.error.code() == Code::kCancelled) {
    reporter_->report_failure(*entry.request, FailureReason::kCanceled);
  } else {
    reporter_->report_request(*entry.request, entry.error.ok(), times);
  }
}

void BatchResponder::answer(Entry& entry) noexcept {
  Request& request = *entry.request;
  if (!entry.error.ok()) {
    if (entry.response != nullptr) request.sink->discard(entry.response);
    fail_request(request, std::move(entry.error));
    return;
  }
  ResponseSink* sink = request.sink;
  if (entry.response == nullptr) entry.response = sink->new_response();
  entry.response->send(decoupled_ ? 0u : static_cast<uint32_t>(kFinal));
  if (decoupled_) sink->send(nullptr, kFinal);
  (void)request.release().ok();
}

void BatchResponder::finish(const ExecutionTimes& times) noexcept {
  if (reporter_ != nullptr) {
    uint32_t executed = 0;
    for (const Entry& entry : entries_) {
      if (entry.error.ok()) executed += entry.request->batch_weight();
      report(entry, times);
    }
    if (executed != 0) reporter_->report_batch(executed, times);
  }
  for (Entry& entry : entries_) answer(entry);
  entries_.clear();
}

}  // namespace atl::backends
