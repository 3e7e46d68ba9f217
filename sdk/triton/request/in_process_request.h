/// Requests that a program makes in process. What it defines stays with its handle; each time the request is sent, a
/// use of it (RequestUse) is filled from that, because the handle is the program's again with the release, which may
/// come before the last response.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/open_parts.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "request/response_allocator.h"
#include "request/slots.h"
#include "trace/inference_trace.h"

namespace atl::triton {

// What is longer is not kept for the next definition.
inline constexpr size_t kMostKeptText = 4096;

struct ReusedText {
  std::string text;
  void clear() noexcept {
    if (text.capacity() > kMostKeptText) text = {};
    text.clear();
  }
};

struct InputDefinition {
  ReusedText name;
  DataType datatype = DataType::kInvalid;
  bool is_raw = false;
  std::vector<int64_t> shape;
  std::vector<Buffer> buffers;

  void clear() noexcept {
    name.clear();
    shape.clear();
    buffers.clear();
    is_raw = false;
  }
};

struct ParameterDefinition {
  ReusedText key;
  ReusedText text;
  Parameter value;  ///< without texts

  void clear() noexcept {
    key.clear();
    text.clear();
    value = {};
  }
};

/// Who is told what becomes of a request.
struct RequestCallbacks {
  TRITONSERVER_InferenceRequestReleaseFn_t release = nullptr;
  void* release_userp = nullptr;
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  void* allocator_userp = nullptr;
  TRITONSERVER_InferenceResponseCompleteFn_t respond = nullptr;
  void* respond_userp = nullptr;
};

class RequestUse;

/// In Request::call_flags of a RequestUse and of no other request: how one is known again. Beside CallFlags.
inline constexpr uint32_t kMadeInProcess = 1u << 31;

}  // namespace atl::triton

/// Pooled.
struct TRITONSERVER_InferenceRequest {
  std::atomic<bool> is_live{false};  ///< not deleted
  /// From InferAsync to the final response or the release callback, whichever comes first; null: nothing is in flight.
  /// The other one is still to come afterwards, and then of an earlier use than the one that is in flight.
  std::atomic<const void*> flight{nullptr};
  /// 1 until it is deleted, and 1 for each release callback to come: after the last of them another program's request
  /// may be made of it.
  std::atomic<uint32_t> holders{0};

  atl::ModelRef model;
  atl::triton::ReusedText id;
  uint32_t flags = 0;
  uint64_t correlation_number = 0;
  atl::triton::ReusedText correlation_text;
  uint64_t priority = 0;
  uint64_t timeout_us = 0;
  atl::triton::Slots<atl::triton::InputDefinition> inputs;
  atl::triton::Slots<atl::triton::ReusedText> outputs;
  atl::triton::Slots<atl::triton::ParameterDefinition> parameters;
  atl::triton::RequestCallbacks callbacks;

  std::mutex mutex;                               ///< of latest_use
  atl::triton::RequestUse* latest_use = nullptr;  ///< a reference; null: it was not sent yet

  // --- of the pool ---
  TRITONSERVER_InferenceRequest* next_free = nullptr;
  uint32_t shard = 0;

  /// As a new one, but for the memory that it keeps.
  void clear() noexcept;
  /// A reference to the latest use; null: there is none.
  atl::triton::RequestUse* hold_latest_use() noexcept;
  /// Takes over a reference.
  void replace_latest_use(atl::triton::RequestUse& use) noexcept;
  void drop_holder() noexcept;
};

namespace atl::triton {

/// One trip of a request through the server. Pooled; over when the final response was sent, the request released and
/// the call of the model has returned, in any order and on any threads.
class RequestUse final : public Request, public ResponseSink {
 public:
  /// Filled with what the handle says, whose reference it has from here on.
  static RequestUse& make(TRITONSERVER_InferenceRequest& of) noexcept;
  /// \param in_flight  of the server that it was sent to, which it is in until the use is over; null: nobody waits for that
  /// \param given      a trace that was taken; null: not traced
  /// Errors: UNAVAILABLE in_flight is closed; as Model::infer(). After a failure nobody is called back, and the use is over.
  Status infer(Gate* in_flight, TRITONSERVER_InferenceTrace* given) noexcept;

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept;
  const RequestCallbacks& callbacks() const noexcept { return callbacks_; }
  /// The program's own; null: there is none.
  TRITONSERVER_InferenceTrace* program_trace() const noexcept { return program_trace_; }

  // --- ResponseSink ---
  Response* new_response() noexcept override;
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override;
  void send(Response* response, uint32_t flags) noexcept override;
  void discard(Response* response) noexcept override;
  void released(Request& request) noexcept override;

  // --- of the pool ---
  RequestUse* next_free = nullptr;
  uint32_t shard = 0;

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2, kSubmitPart = 4 };

  void fill() noexcept;
  void fill_tensors() noexcept;
  void end_flight() noexcept;
  void done_with_trace(uint32_t parts) noexcept;
  void done(uint32_t parts) noexcept;

  TRITONSERVER_InferenceRequest* handle_ = nullptr;  ///< held until the release
  Model* model_ = nullptr;                           ///< held until it is over
  Pass pass_;
  RequestCallbacks callbacks_;
  TRITONSERVER_InferenceTrace* program_trace_ = nullptr;
  OpenParts parts_;
  OpenParts trace_parts_;                ///< final response and release: nobody traces any more
  std::atomic<uint32_t> references_{0};  ///< the handle's, the trip's, and of who cancels
  bool is_released_ = false;
  bool final_seen_ = false;
  bool responded_ = false;
};

/// Of a request that a program made; null: it was made otherwise.
RequestUse* use_of(Request& request) noexcept;

/// The trace that the program gave for the request; null: none, or the request is of another maker.
TRITONSERVER_InferenceTrace* program_trace_of(Request& request) noexcept;

/// Asks the query function of the allocator that the program gave for the request. False: there is none, or the request
/// is of another maker. \param name, byte_size  may be null
bool query_output(Request& request, const char* name, size_t* byte_size, TRITONSERVER_MemoryType* memory_type,
                  int64_t* memory_type_id, TRITONSERVER_Error** error) noexcept;

}  // namespace atl::triton
