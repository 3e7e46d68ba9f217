/// What a completion queue carries: an object that is told when its operation has ended.
#pragma once

namespace atl::frontends::grpc_frontend {

class Event {
 public:
  /// [completion queue's thread] \param ok  false: the operation did not happen, the call is over or the
  /// queue shuts down.
  virtual void on_event(bool ok) noexcept = 0;

 protected:
  ~Event() = default;
};

/// One of the operations of an object that has several.
template <class Owner>
class Step final : public Event {
 public:
  Step(Owner* owner, void (Owner::*function)(bool)) : owner_(owner), function_(function) {}
  void on_event(bool ok) noexcept override { (owner_->*function_)(ok); }

 private:
  Owner* owner_;
  void (Owner::*function_)(bool);
};

}  // namespace atl::frontends::grpc_frontend
