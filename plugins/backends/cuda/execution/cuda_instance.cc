#include "backends/cuda/execution/cuda_instance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/cuda/execution/request_check.h"

namespace atl::cuda_backend {

CudaInstance::CudaInstance(std::shared_ptr<const ModelPlan> plan, std::shared_ptr<DevicePart> part) noexcept
    : plan_(std::move(plan)),
      part_(std::move(part)),
      clock_(*part_->context().clock),
      run_(*plan_, *part_, lanes_) {}

CudaInstance::~CudaInstance() {
  {
    std::unique_lock lock(mutex_);
    slot_is_free_.wait(lock, [this] {
      return std::ranges::none_of(slots_, [](const auto& slot) { return slot->is_busy; });
    });
  }
  // What a load left in the streams that failed.
  if (lanes_.main && make_current(part_->cuda(), part_->device())) (void)lanes_.synchronize().ok();
}

bool CudaInstance::ready() const noexcept { return part_->cuda().lost(part_->device()).ok(); }

std::string CudaInstance::unready_reason() const {
  const Status lost = part_->cuda().lost(part_->device());
  return lost.ok() ? std::string() : std::string(lost.message());
}

uint32_t CudaInstance::room() const noexcept {
  // Below 0 where somebody sent more than there was room for, which waits in execute().
  const uint32_t left = room_.left();
  return left == 0 || left > kBatchesInFlight ? 0 : std::numeric_limits<uint32_t>::max();
}

Status CudaInstance::execute(const Batch& batch) noexcept {
  ATOLL_RETURN_IF_ERROR(part_->cuda().ensure_current(part_->device()));
  const int64_t start_ns = clock_.now_ns();
  Slot& slot = take_slot();
  slot.batch.begin(batch, start_ns);
  choose(slot.batch);
  Status failure;
  if (!run_all(slot, failure)) {
    end(slot, {});
    return {};
  }
  if (failure.ok() && slot.batch.is_timed) {
    slot.batch.answer_ahead();
    failure = part_->cuda().post_when_done(part_->device(), slot.batch.done.handle(), {&on_done, &slot});
    if (failure.ok()) return {};
  }
  // Nobody may answer while the device still reads and writes the requests' memory.
  Status ended = lanes_.synchronize();
  end(slot, ended);
  return {};
}

/// The one whose batch ended first, once it has.
CudaInstance::Slot& CudaInstance::take_slot() noexcept {
  room_.take(1);
  std::unique_lock lock(mutex_);
  Slot* found = nullptr;
  slot_is_free_.wait(lock, [&] {
    for (const auto& slot : slots_) {
      if (!slot->is_busy) found = slot.get();
    }
    return found != nullptr;
  });
  found->is_busy = true;
  return *found;
}

/// The requests that can be run.
void CudaInstance::choose(InFlight& batch) noexcept {
  groups_.fill(batch.responder, [&](const Request& request) {
    return request.cancelled() ? Status(Code::kCancelled, {}) : check_request(*plan_, request);
  });
}

/// \param failure  out: something went wrong while work was put into the streams; whom it concerns has failed
/// \returns whether anything may be in the streams
bool CudaInstance::run_all(Slot& slot, Status& failure) noexcept {
  bool is_first = true;
  const auto joins = [this](const Request& a, const Request& b) { return joinable(*plan_, a, b); };
  while (groups_.take(slot.batch.responder, joins)) {
    WorkSet& set = sets_[slot.set];
    Status status = run_.prepare(group_, set);
    if (!status.ok() && group_.members.size() > 1) {
      groups_.split();
      continue;
    }
    if (status.ok()) {
      slot.batch.is_timed = false;
      status = run_.run(group_, set, slot.batch, is_first);
      slot.batch.is_timed = status.ok();
      is_first = false;
      if (!status.ok() && failure.ok()) failure = status.clone();
    }
    for (const uint32_t i : group_.indices) {
      if (!status.ok()) slot.batch.responder.fail(i, status.clone());
    }
  }
  return !is_first;
}

void CudaInstance::on_done(void* argument, Status outcome) noexcept {
  Slot& slot = *static_cast<Slot*>(argument);
  // The provider that ends drops what waits: the device may be at it still.
  if (!outcome.ok()) (void)slot.owner.lanes_.synchronize().ok();
  slot.owner.end(slot, outcome);
}

/// Answers. [any] \param outcome  of what was put into the streams
void CudaInstance::end(Slot& slot, const Status& outcome) noexcept {
  slot.batch.settle(outcome, clock_);
  room_.give_back(1);
  slot.batch.answer();
  // Within the lock: with the last batch the instance may be destroyed.
  std::lock_guard lock(mutex_);
  slot.is_busy = false;
  slot_is_free_.notify_all();
}

}  // namespace atl::cuda_backend
