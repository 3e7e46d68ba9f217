/// A response's outputs in the trace of its request. Whoever is a request's sink reports them, once for each
/// response, before the response is changed or its memory is given away:
///
///     void send(Response* response, uint32_t flags) noexcept override {
///       if (response != nullptr) trace_outputs(request.trace, *response);
///       ...
#pragma once

#include "atoll/request/request.h"

namespace atl {

/// Copies the outputs into the trace, if it wants tensors.
/// \param trace  null: the request is not traced, as most are
inline void trace_outputs(Trace* trace, const Response& response) noexcept {
  if (trace == nullptr || !trace->wants_tensors()) return;
  for (const OutputTensor& output : response.outputs) {
    trace->report_tensor(TraceActivity::kTensorBackendOutput, output.name, output.datatype, output.shape,
                         {&output.buffer, 1});
  }
}

}  // namespace atl
