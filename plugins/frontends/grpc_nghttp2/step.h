/// One of an object's reasons to be on its loop's thread.
#pragma once

#include "frontends/common/call/post_list.h"

namespace atl::frontends::grpc_nghttp2 {

/// Part of the object. Calls a member function of it when posted.
template <class Owner>
class Step final : public Posted {
 public:
  Step(Owner& owner, void (Owner::*function)()) noexcept : owner_(owner), function_(function) {}
  virtual ~Step() = default;
  void on_posted() noexcept override { (owner_.*function_)(); }

 private:
  Owner& owner_;
  void (Owner::*function_)();
};

}  // namespace atl::frontends::grpc_nghttp2
