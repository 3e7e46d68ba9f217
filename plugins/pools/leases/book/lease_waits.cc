#include "pools/leases/book/lease_waits.h"

namespace atl::pools {

bool LeaseWaiting::leave() {
  if (std::exchange(has_ended_, true)) return false;
  waits_->leases_.stop_watching(lease_, *this);
  cancellation_.stop_listening();
  waits_->all_.erase(shared_from_this());
  return true;
}

void LeaseWaiting::lease_changed(const Lease& lease) {
  if (has_ended_) return;
  const std::shared_ptr<LeaseWaiting> self = shared_from_this();
  const bool is_over = is_final(lease.state()) || (!for_its_end_ && lease.state() == LeaseState::kActive);
  if (!show(lease)) {
    leave();
    return give_up(make_status(Code::kCancelled, "the client has gone"));
  }
  if (is_over && leave()) finish(lease);
}

void LeaseWaiting::on_cancel(void*) noexcept {
  waits_->executor_.post(make_task([self = shared_from_this()] {
    if (self->leave()) self->give_up(make_status(Code::kCancelled, "the client has gone"));
  }));
}

void LeaseWaits::add(std::shared_ptr<LeaseWaiting> waiting) {
  waiting->waits_ = this;
  if (!waiting->cancellation_.listen(waiting.get(), nullptr))
    return waiting->give_up(make_status(Code::kCancelled, "the client has gone"));
  all_.insert(waiting);
  leases_.watch(waiting->lease_, *waiting);
  waiting->begin();
  waiting->lease_changed(*leases_.find(waiting->lease_));
}

void LeaseWaits::drain() {
  drains_ = true;
  const std::set<std::shared_ptr<LeaseWaiting>> all = all_;
  for (const auto& waiting : all) {
    if (waiting->leave())
      waiting->give_up(unavailable("the server is ending; lease '", waiting->lease_, "' goes on"));
  }
}

}  // namespace atl::pools
