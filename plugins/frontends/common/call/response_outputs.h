/// The outputs of a request's responses: where their bytes go, and which of them are answered.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "atoll/request/request.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/call/request_charge.h"

namespace atl::frontends {

/// What a request's context reports to the call that it belongs to.
class ResponseReceiver {
 public:
  /// A response came (null: only flags); it is the receiver's until reclaim(). One call at a time, none after
  /// kFinal.
  virtual void on_response(Response* response, uint32_t flags) noexcept = 0;
  /// Whether so much can be answered, of an output with memory of its own. Errors: are the output's.
  virtual Status check_output(const OutputTensor& /*output*/, uint64_t /*size_bytes*/) noexcept { return {}; }
  /// Every part is done: nobody else knows the context.
  virtual void recycle() noexcept = 0;

 protected:
  ~ResponseReceiver() = default;
};

/// An output goes where the client has placed it in a region, or gets memory that the transport can send as it
/// is, which counts as the request's. Not thread safe; one request's.
class ResponseOutputs {
 public:
  /// All of them outlive this.
  ResponseOutputs(const Request& request, const RegionUses& regions, RequestCharge& memory,
                  ResponseReceiver& receiver) noexcept
      : request_(request), regions_(regions), memory_(memory), receiver_(receiver) {}

  /// Sets the output's buffer and, for drop(), its sink_data.
  /// Errors: INTERNAL its place is too small; what the receiver says of its size; there is no memory.
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind kind) noexcept;
  /// Leaves in the response what was asked for; one that has an output twice becomes an error. What is left
  /// is ready, and in CPU memory or where the client wants it.
  void keep_requested(Response& response, std::string_view model) noexcept;
  /// Frees the memory of outputs that are not sent, or were copied.
  void drop(Response& response) noexcept {
    for (OutputTensor& output : response.outputs) free_output_memory(output);
  }
  /// What was counted for outputs is not any more, because they are written.
  void uncharge() noexcept { memory_.reduce(std::exchange(charged_bytes_, 0)); }
  /// For the next request; what was counted ends with the charge.
  void reset() noexcept { charged_bytes_ = 0; }

 private:
  Status give_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept;
  Status settle(Response& response, OutputTensor& output, const RequestedOutput* wanted) noexcept;
  void refuse_repeated(Response& response, std::string_view model) noexcept;

  const Request& request_;
  const RegionUses& regions_;
  RequestCharge& memory_;
  ResponseReceiver& receiver_;
  uint64_t charged_bytes_ = 0;
};

}  // namespace atl::frontends
