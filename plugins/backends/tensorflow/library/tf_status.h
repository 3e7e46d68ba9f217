/// What a call of TensorFlow says of itself.
#pragma once

#include "atoll/core/status.h"
#include "backends/tensorflow/library/tf_api.h"

namespace atl::tensorflow {

/// One for several calls, one after the other. Not thread safe.
class TfStatus {
 public:
  TfStatus() : status_(tf().TF_NewStatus()) {}
  operator TF_Status*() const noexcept { return status_.get(); }  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return tf().TF_GetCode(status_.get()) == 0; }
  /// Of the last call: its code, which has gRPC's number, and the first line of its text, cut where it is very long.
  Status status() const noexcept;

 private:
  TfHandle<TF_Status> status_;
};

}  // namespace atl::tensorflow
