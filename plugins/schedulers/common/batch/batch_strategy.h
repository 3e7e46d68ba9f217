/// A model's own opinion on its batches. Under the scheduler's lock, one call at a time.
#pragma once

#include "atoll/request/request.h"

namespace atl::schedulers {

class BatchStrategy {
 public:
  virtual ~BatchStrategy() = default;
  /// Begins a batch. \returns its record, which may be null.
  virtual void* begin() noexcept = 0;
  /// Whether the request joins the batch of the record. The first one does whatever is said here.
  virtual bool include(Request& request, void* record) noexcept = 0;
  /// The batch goes to an instance, or is begun anew.
  virtual void end(void* record) noexcept = 0;
};

}  // namespace atl::schedulers
