#include "frontends/common/call/infer_context.h"

#include <utility>

#include "frontends/common/call/region_tensors.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

InferContext::~InferContext() {
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

void InferContext::begin(uint32_t transport_parts) noexcept {
  final_seen_ = false;
  responded_ = false;
  output_bytes_ = 0;
  parts_.open(kFinalPart | kReleasePart | kSubmitPart | transport_parts);
}

Status InferContext::reason(Status status) noexcept {
  if (status.ok() || memory.refused().ok()) return status;
  return refused();
}

Status InferContext::refused() noexcept {
  request.retry_after_ms = RequestCharge::kRetryAfterMs;
  return memory.refused();
}

bool InferContext::begin_call(const ModelLookup& models, std::string_view name,
                              Result<int64_t> version) noexcept {
  if (!version.ok()) return refuse_call(version.status());
  catalog_ = &models.catalog;
  wanted_name_ = name;
  wanted_version_ = version.value();
  absence_ = {};
  Result<bool> found = find_model(models, name, version.value());
  if (found.ok() && !found.value()) return false;
  return on_found(std::move(found).status());
}

Result<bool> InferContext::find_model(const ModelLookup& models, std::string_view name,
                                      int64_t version) noexcept {
  Result<ModelRef> found = models.router.route(models.catalog, name, version);
  if (found.ok()) {
    model = std::move(found).value();
    return true;
  }
  // Of this moment: another control plugin may take its place while the server runs.
  Result<Service<ModelDemand>> demand = models.registry.find<ModelDemand>();
  if (!demand.ok()) return find_finishing(std::move(found).status());
  wait(&InferContext::on_found);
  Status waits = (*demand)->await({name, version, request.times.deadline_ns, &request.cancellation}, *this);
  if (waits.ok()) return false;
  next_ = nullptr;
  return waits;
}

Result<bool> InferContext::find_finishing(Status absence) noexcept {
  model = catalog_->finishing(wanted_name_, wanted_version_, {});
  if (!model) return absence;
  absence_ = std::move(absence);
  return true;
}

Status InferContext::find_sequence() noexcept {
  const bool goes_on = !request.sequence.empty() && (request.sequence_flags & kSequenceStart) == 0;
  if (goes_on && model->has_sequence(request.sequence)) return {};
  if (goes_on) {
    if (ModelRef other = catalog_->finishing(wanted_name_, wanted_version_, request.sequence)) {
      read_for_ = std::exchange(model, std::move(other));
      return {};
    }
  }
  return std::move(absence_);
}

void InferContext::on_model(Result<ModelRef> found) noexcept {
  if (found.ok()) model = std::move(found).value();
  end_wait(std::move(found).status());
}

bool InferContext::on_found(Status status) noexcept {
  if (!status.ok()) return refuse_call(status);
  Result<bool> parsed = parse_request();
  if (parsed.ok() && !parsed.value()) return false;
  return hand_over(std::move(parsed).status());
}

bool InferContext::hand_over(Status read) noexcept {
  if (read.ok() && (!request.sequence.empty() || !absence_.ok())) read = find_sequence();
  if (read.ok()) read = read_head();
  if (!read.ok()) return refuse_call(read);
  if (Status status = submit(); !status.ok()) refuse(status);
  return true;
}

bool InferContext::refuse_call(const Status& status) noexcept {
  abandon();
  refuse(status);
  return true;
}

void InferContext::wait(Next next) noexcept {
  next_ = next;
  about_to_wait();
}

void InferContext::end_wait(Status status) noexcept {
  ended_ = std::move(status);
  to_own_thread();
}

Task InferContext::reading(Next next) noexcept {
  wait(next);
  return {[](void* self) {
            auto& call = *static_cast<InferContext*>(self);
            const bool is_wanted = !call.request.cancellation.cancelled();
            call.end_wait(is_wanted ? call.reason(call.read_large()) : Status(Code::kCancelled, {}));
          },
          this, nullptr};
}

Result<bool> InferContext::read_elsewhere(LargeWork& work, Next next) noexcept {
  Status status = work.try_post(reading(next));
  if (status.ok()) return false;
  next_ = nullptr;
  request.retry_after_ms = LargeWork::kRetryAfterMs;
  return status;
}

Status InferContext::submit() noexcept {
  request.model = model.get();
  request.sink = this;
  Status status = model->infer(request);
  if (status.ok()) {
    done(kSubmitPart);
  } else {
    abandon();
  }
  return status;
}

void InferContext::abandon() noexcept {
  final_seen_ = true;
  done(kReleasePart);
  done(kFinalPart);
  done(kSubmitPart);
}

Response* InferContext::new_response() noexcept {
  Response* response = nullptr;
  if (!first_in_use_) {
    first_in_use_ = true;
    response = &first_;
  } else if (spare_ != nullptr) {
    response = std::exchange(spare_, spare_->next);
    response->next = nullptr;
  } else {
    response = new Response;
  }
  response->sink = this;
  return response;
}

Status InferContext::allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                              MemoryKind preferred_kind, int64_t) noexcept {
  const RequestedOutput* wanted = request.find_output(output.name, response.outputs.size() - 1);
  if (wanted == nullptr || wanted->placement.data == nullptr) {
    return allocate_output(response, output, size_bytes);
  }
  const Buffer& placement = wanted->placement;
  if (size_bytes > placement.size_bytes) {
    return Status(Code::kInternal, messages::region_too_small(output.name, placement.size_bytes, size_bytes));
  }
  // Who writes with the CPU gets memory for that; settle() takes the bytes to their place.
  if (placement.kind == MemoryKind::kGpu && preferred_kind != MemoryKind::kGpu) {
    return allocate_output(response, output, size_bytes);
  }
  output.buffer = placement;
  output.buffer.size_bytes = size_bytes;
  return {};
}

Status InferContext::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  if (size_bytes > kInlineBytes) {
    ATOLL_RETURN_IF_ERROR(charge(size_bytes));
    output_bytes_ += size_bytes;
    ATOLL_RETURN_IF_ERROR(check_output(output, size_bytes));
  }
  return give_output_memory(response, output, size_bytes);
}

void InferContext::send(Response* response, uint32_t flags) noexcept {
  if (final_seen_) {
    if (response != nullptr) discard(response);
    return;
  }
  if (response != nullptr && !responded_) {
    responded_ = true;
    model->report_first_response(request);
  }
  if (response != nullptr) {
    keep_requested(*response);
    trace_outputs(*response);
  }
  if ((flags & kFinal) == 0) {
    on_response(response, flags);
    return;
  }
  final_seen_ = true;
  trace("INFER_RESPONSE_COMPLETE");
  on_response(response, flags);
  done(kFinalPart);
}

void InferContext::keep_requested(Response& response) noexcept {
  if (!response.error.ok()) return;
  if (request.outputs.empty()) {  // without validation nothing is asked for, and nothing has a place
    for (OutputTensor& output : response.outputs) {
      if (!is_host_ready(output.buffer) && response.error.ok())
        response.error = settle(response, output, nullptr);
    }
    return;
  }
  uint32_t kept = 0;
  size_t expected = 0;
  bool is_ascending = true;  // then no output can be there twice
  for (OutputTensor& output : response.outputs) {
    const RequestedOutput* wanted = request.find_output(output.name, expected);
    if (wanted == nullptr) {
      (void)wait_until_ready(output.buffer).ok();
      drop_output(output);
      continue;
    }
    if (!is_host_ready(output.buffer) || wanted->placement.kind == MemoryKind::kGpu) [[unlikely]] {
      if (Status status = settle(response, output, wanted); !status.ok()) response.error = std::move(status);
    }
    const auto position = static_cast<size_t>(wanted - request.outputs.begin());
    is_ascending = is_ascending && position >= expected;
    expected = position + 1;
    OutputTensor& place = response.outputs[kept++];
    if (&place != &output) place = output;
  }
  response.outputs.truncate(kept);
  if (!is_ascending) refuse_repeated(response);
}

Status InferContext::settle(Response& response, OutputTensor& output,
                            const RequestedOutput* wanted) noexcept {
  ATOLL_RETURN_IF_ERROR(wait_until_ready(output.buffer));
  output.buffer.ready_after = nullptr;
  if (is_placed(wanted, output)) return {};
  const Buffer from = output.buffer;
  if (wanted != nullptr && wanted->placement.kind == MemoryKind::kGpu) {
    Buffer to = wanted->placement;
    to.size_bytes = from.size_bytes;
    Status status = regions.copy(to, from);
    drop_output(output);
    output.buffer = to;
    return status;
  }
  if (from.kind != MemoryKind::kGpu || from.size_bytes == 0) return {};
  if (!regions.reaches_devices()) {
    return internal_error("output '", output.name, "' is in GPU memory, expected CPU memory");
  }
  ATOLL_RETURN_IF_ERROR(allocate_output(response, output, from.size_bytes));
  return regions.copy(output.buffer, from);
}

void InferContext::refuse_repeated(Response& response) noexcept {
  bool* seen = response.arena().make_array<bool>(request.outputs.size());
  for (const OutputTensor& output : response.outputs) {
    const auto position = request.find_output(output.name) - request.outputs.begin();
    if (std::exchange(seen[position], true)) {
      response.error = internal_error("model '", model->info().name, "' answered output '", output.name,
                                      "' more than once in a response");
      return;
    }
  }
}

void InferContext::trace_outputs(const Response& response) noexcept {
  if (request.trace == nullptr || !request.trace->wants_tensors()) return;
  for (const OutputTensor& output : response.outputs) {
    request.trace->report_tensor(TraceActivity::kTensorBackendOutput, output.name, output.datatype,
                                 output.shape, {&output.buffer, 1});
  }
}

void InferContext::discard(Response* response) noexcept {
  wait_for_outputs(*response);
  drop_outputs(*response);
  reclaim(response);
}

void InferContext::reclaim(Response* response) noexcept {
  response->reset();
  if (response == &first_) {
    first_in_use_ = false;
  } else {
    response->next = spare_;
    spare_ = response;
  }
}

void InferContext::released(Request&) noexcept {
  if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestEnd, 0);
  done(kReleasePart);
}

void InferContext::reset_request() noexcept {
  if (request.trace != nullptr) request.trace->release();
  regions.release();
  request.reset();
  model.reset();
  read_for_.reset();
  memory.release();
}

}  // namespace atl::frontends
