/// The inputs of a traced request, for traces that record tensors.
#pragma once

#include "atoll/request/request.h"

namespace atl::models {

/// Does nothing for the many requests without a trace.
inline void trace_inputs(const Request& request, TraceActivity activity) noexcept {
  if (request.trace == nullptr || !request.trace->wants_tensors()) return;
  for (const InputTensor& input : request.inputs) {
    request.trace->report_tensor(activity, input.name, input.datatype, input.shape, input.buffers);
  }
}

}  // namespace atl::models
