#include "backends/python/calls/executions.h"

#include <atomic>
#include <utility>

namespace atl::python {

// --- in ---

Status Executions::prepare(std::span<Request* const> requests, int64_t start_ns, RingMessage& message) {
  ATOLL_RETURN_IF_ERROR(write_batch(blocks_, requests, next_handle_, context_.devices, batch_));
  {
    std::lock_guard lock(mutex_);
    prepared_ = std::move(spare_);
  }
  if (prepared_ == nullptr) prepared_ = std::make_unique<Execution>();
  Execution& execution = *prepared_;
  execution.first_handle = next_handle_;
  execution.block = batch_.block;
  execution.times = {};
  execution.times.execute_start_ns = start_ns;
  execution.times.compute_start_ns = context_.clock->now_ns();
  execution.open = static_cast<uint32_t>(requests.size());
  execution.has_returned = false;
  execution.cancelled.store(0, std::memory_order_relaxed);
  execution.entries.clear();
  execution.entries.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Entry& entry = execution.entries.emplace_back();
    entry.execution = &execution;
    entry.handle = next_handle_ + i;
    entry.request = requests[i];
    entry.sink = requests[i]->sink;
    entry.cancelled = batch_.cancel_words[i];
  }
  next_handle_ += requests.size();
  message = {};
  message.type = MessageType::kExecute;
  message.id = execution.first_handle;
  message.slab = batch_.block->slab;
  message.offset = batch_.block->offset;
  message.size_bytes = batch_.block->size_bytes;
  return {};
}

void Executions::listen() noexcept {
  for (Entry& entry : prepared_->entries) {
    entry.listens = entry.request->cancellation.listen(this, &entry);
    if (!entry.listens) on_cancel(&entry);
  }
}

void Executions::keep() noexcept {
  for (const Block* tensor : batch_.tensors) blocks_.give_back(tensor, true);
  running_since_ns_.store(prepared_->times.compute_start_ns, std::memory_order_relaxed);
  executions_.emplace(prepared_->first_handle, std::move(prepared_));
}

void Executions::drop() noexcept {
  for (Entry& entry : prepared_->entries) {
    if (entry.listens) entry.request->cancellation.stop_listening();
  }
  drop_batch(blocks_, batch_);
  prepared_.reset();
}

void Executions::on_cancel(void* cancelled) noexcept {
  const Entry& entry = *static_cast<const Entry*>(cancelled);
  std::atomic_ref(*entry.cancelled).store(1, std::memory_order_release);
  Execution& execution = *entry.execution;
  const bool is_whole =
      execution.cancelled.fetch_add(1, std::memory_order_acq_rel) + 1 == execution.entries.size();
  if (cancellations_ != nullptr) cancellations_->on_cancelled(execution.first_handle, entry.handle, is_whole);
}

// --- out ---

Trace* Executions::trace_of(uint64_t handle) const noexcept {
  const Entry* entry = nullptr;
  if (handle != 0) {
    const Execution* execution = find(handle);
    if (execution != nullptr) entry = &execution->entries[handle - execution->first_handle];
  } else {
    std::lock_guard lock(mutex_);
    const bool is_one = executions_.size() == 1 && executions_.begin()->second->entries.size() == 1;
    if (is_one) entry = &executions_.begin()->second->entries.front();
  }
  return entry == nullptr || entry->is_released ? nullptr : entry->request->trace;
}

Executions::Execution* Executions::find(uint64_t handle) const noexcept {
  std::lock_guard lock(mutex_);
  auto after = executions_.upper_bound(handle);
  if (after == executions_.begin()) return nullptr;
  Execution& execution = *(--after)->second;
  return handle - execution.first_handle < execution.entries.size() ? &execution : nullptr;
}

Status Executions::take(const RingMessage& message, const PayloadView& payload, Returned& returned) noexcept {
  ATOLL_RETURN_IF_ERROR(read_responses(payload, records_));
  if ((message.flags & kExecuteReturned) != 0) return take_returned(message, payload, returned);
  return take_some(payload);
}

Status Executions::take_some(const PayloadView& payload) noexcept {
  for (const ResponseRecord& record : records_) {
    Execution* execution = find(record.handle);
    // One that was answered and is gone: the worker may not have known.
    if (execution == nullptr) continue;
    Entry& entry = execution->entries[record.handle - execution->first_handle];
    ATOLL_RETURN_IF_ERROR(absorb(entry, record, payload));
    deliver(*execution, entry);
    forget_if_done(*execution);
  }
  return {};
}

Status Executions::take_returned(const RingMessage& message, const PayloadView& payload,
                                 Returned& returned) noexcept {
  Execution* found = find(message.id);
  if (found == nullptr || found->first_handle != message.id || found->has_returned) {
    return invalid_argument("found batch ", message.id, ", which does not run, as one that has returned");
  }
  Execution& execution = *found;
  if (records_.size() != execution.entries.size()) {
    return invalid_argument("found ", records_.size(), " records of a batch of ", execution.entries.size());
  }
  execution.times.compute_end_ns = context_.clock->now_ns();
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].handle != execution.first_handle + i) {
      return invalid_argument("found records of a batch in another order than its requests");
    }
    ATOLL_RETURN_IF_ERROR(absorb(execution.entries[i], records_[i], payload));
  }
  execution.has_returned = true;
  running_since_ns_.store(0, std::memory_order_relaxed);
  execution.times.execute_end_ns = context_.clock->now_ns();
  report(execution);
  returned.on_returned();
  for (Entry& entry : execution.entries) {
    deliver(execution, entry);
    release(execution, entry);
  }
  forget_if_done(execution);
  return {};
}

/// What the record says goes into the entry, and nothing leaves it yet.
Status Executions::absorb(Entry& entry, const ResponseRecord& record, const PayloadView& payload) noexcept {
  if (entry.is_last) return {};
  if ((record.flags & ResponseRecord::kReschedule) != 0) {
    entry.reschedules = true;
    return {};
  }
  if ((record.flags & ResponseRecord::kResponse) != 0 && entry.response == nullptr) {
    Response* response = entry.sink->new_response();
    Status failure;
    Status status = fill_response(payload, slabs_, record, *entry.request, *response, failure);
    if (!status.ok()) {
      entry.sink->discard(response);
      return status;
    }
    entry.code = failure.code();
    if (failure.ok() && context_.outputs != nullptr) context_.outputs->look(*response, record, payload);
    if (!failure.ok()) {
      entry.sink->discard(response);
      response = error_response(entry, std::move(failure));
    }
    entry.response = response;
  }
  entry.is_last = (record.flags & ResponseRecord::kLast) != 0;
  return {};
}

Response* Executions::error_response(const Entry& entry, Status failure) noexcept {
  Response* response = entry.sink->new_response();
  response->error = std::move(failure);
  return response;
}

/// Sends what can be sent: of a model that is not decoupled nothing before the last, which is all there is.
void Executions::deliver(Execution& execution, Entry& entry) noexcept {
  if (entry.is_final || entry.reschedules) return;
  if (entry.is_last) {
    Response* response = std::exchange(entry.response, nullptr);
    if (response == nullptr && !context_.decoupled) {
      response =
          error_response(entry, internal_error("model '", context_.model, "' has not answered the request"));
    }
    end(entry, response);
    if (entry.is_released) --execution.open;
  } else if (entry.response != nullptr && context_.decoupled) {
    std::exchange(entry.response, nullptr)->send(0);
  }
}

void Executions::end(Entry& entry, Response* response) noexcept {
  if (std::exchange(entry.listens, false)) entry.request->cancellation.stop_listening();
  entry.is_final = true;
  entry.sink->send(response, kFinal);
}

/// Before the requests are answered, so that a client that has its answer finds itself counted.
void Executions::report(Execution& execution) noexcept {
  if (context_.reporter == nullptr) return;
  uint32_t executed = 0;
  for (const Entry& entry : execution.entries) {
    const bool failed = entry.is_last && entry.code != Code::kOk;
    if (!failed) executed += entry.request->batch_weight();
    if (entry.reschedules) continue;
    if (failed && entry.code == Code::kCancelled) {
      context_.reporter->report_failure(*entry.request, FailureReason::kCanceled);
    } else {
      context_.reporter->report_request(*entry.request, !failed, execution.times);
    }
  }
  if (executed != 0) context_.reporter->report_batch(executed, execution.times);
}

void Executions::release(Execution& execution, Entry& entry) noexcept {
  if (entry.reschedules && !entry.is_final) {
    if (std::exchange(entry.listens, false)) entry.request->cancellation.stop_listening();
    Status status = entry.request->release(kReleaseReschedule);
    if (!status.ok()) {
      context_.log->warning("model '", context_.model, "': ", status.message());
      if (context_.reporter != nullptr)
        context_.reporter->report_request(*entry.request, false, execution.times);
      end(entry, error_response(entry, std::move(status)));
      (void)entry.request->release().ok();
    }
    entry.is_final = entry.is_released = true;
    --execution.open;
    return;
  }
  entry.is_released = true;
  const bool is_done = entry.is_final;
  (void)entry.request->release().ok();
  if (is_done) --execution.open;
}

void Executions::forget_if_done(Execution& execution) noexcept {
  if (execution.open != 0 || !execution.has_returned) return;
  blocks_.give_back(execution.block, true);
  std::lock_guard lock(mutex_);
  const auto found = executions_.find(execution.first_handle);
  spare_ = std::move(found->second);
  executions_.erase(found);
}

// --- the end ---

void Executions::fail_all(const Status& failure) noexcept {
  std::map<uint64_t, std::unique_ptr<Execution>> failed;
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
    failed.swap(executions_);
  }
  running_since_ns_.store(0, std::memory_order_relaxed);
  for (auto& [handle, execution] : failed) {
    for (Entry& entry : execution->entries) fail(entry, failure.clone());
    blocks_.give_back(execution->block, true);
  }
}

void Executions::fail(Entry& entry, Status failure) noexcept {
  const bool was_released = entry.is_released;
  if (!was_released && context_.reporter != nullptr)
    context_.reporter->report_request(*entry.request, entry.is_final, {});
  if (!entry.is_final) {
    if (entry.response != nullptr) entry.sink->discard(entry.response);
    end(entry, error_response(entry, std::move(failure)));
  }
  if (!was_released) (void)entry.request->release().ok();
}

}  // namespace atl::python
