#include "schedulers/common/batch/ordered_responses.h"

#include <utility>

#include "schedulers/common/instances/inside.h"

namespace atl::schedulers {

OrderedResponses::~OrderedResponses() { wait_until_nobody_is_inside(inside_); }

OrderedResponses::Turn::Turn(Place& place) noexcept
    : place_(place),
      is_outermost_(place.caller.load(std::memory_order_relaxed) != std::this_thread::get_id()) {
  if (!is_outermost_) return;
  std::thread::id caller;
  while (!place_.caller.compare_exchange_weak(caller, std::this_thread::get_id(), std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
    if (caller != std::thread::id()) place_.caller.wait(caller, std::memory_order_relaxed);
    caller = {};
  }
}

OrderedResponses::Turn::~Turn() {
  if (!is_outermost_) return;
  place_.caller.store({}, std::memory_order_release);
  place_.caller.notify_one();
}

void OrderedResponses::reserve(Request& request) {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    places_.push_back(std::make_unique<Place>(*this));
    free_.reserve(places_.size());  // so that giving one back needs no memory
    free_.push_back(places_.back().get());
  }
  Place& place = *free_.back();
  free_.pop_back();
  place.interpose(request);
  place.final_sent = place.final_delivered = place.was_released = false;
  order_.push_back(place);
}

/// Under the lock, by who is not inside the place's sink any more.
void OrderedResponses::give_back(Place& place) noexcept {
  if (place.final_delivered && place.was_released) free_.push_back(&place);
}

void OrderedResponses::deliver() noexcept {
  std::unique_lock lock(mutex_);
  if (std::exchange(delivering_, true)) return;  // that thread sees what has come
  while (!order_.empty() && !order_.front()->sent.empty()) {
    Place& place = *order_.front();
    Sent one = place.sent.front();
    place.sent.pop_front();
    bool is_last = (one.flags & kFinal) != 0;
    if (is_last) order_.pop_front();
    lock.unlock();
    place.deliver(one);
    lock.lock();
    if (!is_last) continue;
    place.final_delivered = true;
    give_back(place);
  }
  delivering_ = false;
}

void OrderedResponses::Place::deliver(const Sent& one) noexcept {
  Turn turn(*this);
  send_to(next(), one.response, one.flags);
}

Response* OrderedResponses::Place::new_response() noexcept {
  Inside inside(owner_.inside_);
  Turn turn(*this);
  return SinkInterposer::new_response();
}

Status OrderedResponses::Place::allocate(Response& response, OutputTensor& output, uint64_t size_bytes,
                                         MemoryKind preferred_kind, int64_t preferred_device_id) noexcept {
  Inside inside(owner_.inside_);
  Turn turn(*this);
  return SinkInterposer::allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
}

void OrderedResponses::Place::send(Response* response, uint32_t flags) noexcept {
  OrderedResponses& owner = owner_;  // this place may be another request's when deliver() returns
  Inside inside(owner.inside_);
  bool too_late = false;
  {
    std::lock_guard lock(owner.mutex_);
    too_late = final_sent;
    final_sent |= (flags & kFinal) != 0;
    if (!too_late) sent.push_back({response, flags});
  }
  if (!too_late) return owner.deliver();
  if (response != nullptr) discard(response);
}

void OrderedResponses::Place::discard(Response* response) noexcept {
  Inside inside(owner_.inside_);
  Turn turn(*this);
  SinkInterposer::discard(response);
}

void OrderedResponses::Place::released(Request& request) noexcept {
  Inside inside(owner_.inside_);
  {
    Turn turn(*this);
    SinkInterposer::released(request);
  }
  std::lock_guard lock(owner_.mutex_);
  was_released = true;
  owner_.give_back(*this);
}

}  // namespace atl::schedulers
