/// What TRITONBACKEND_Request* and TRITONBACKEND_Input* point to: the handles by which foreign code holds a request.
/// They are small objects of their own and not the request, so that what is used after it was given away is found
/// out and answered with an error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

struct LentAttributes;
/// Of the inputs of a request that foreign code no longer has.
void free_attributes(LentAttributes* attributes) noexcept;

/// What may become of a request's responses.
enum class ResponseState : uint8_t {
  kOpen,         ///< more may be sent
  kEnded,        ///< the final one was sent
  kRescheduled,  ///< the request went back to its scheduler: what is sent now would be of another execution
};

/// What the sink of a request is still to be called for, in this order, by the one thread that calls it at a time: no
/// lock is held meanwhile, because a program's callback may wait for what another thread does with the same request.
struct SinkCalls {
  bool is_calling = false;
  std::thread::id caller;
  TRITONBACKEND_Response* first = nullptr;  ///< responses to send or to discard
  TRITONBACKEND_Response* last = nullptr;
  bool ends = false;                 ///< then the final flag alone
  bool may_overlap = false;          ///< responses may be made, and their memory given, while it is called
  std::condition_variable are_done;  ///< nobody calls it
};

/// What TRITONBACKEND_ModelInstanceReportStatistics said.
struct ReportedExecution {
  InferenceReporter* reporter = nullptr;  ///< null: nothing is left to be told
  ExecutionTimes times;
  bool is_success = false;
  bool is_cancelled = false;
};

}  // namespace atl::triton

struct TRITONBACKEND_Input {
  std::atomic<const atl::InputTensor*> tensor{nullptr};  ///< null: its request is no longer the caller's
  std::atomic<atl::triton::LentAttributes*> attributes{nullptr};
};

/// Either of a request that is only to be read (RequestView), or of one that is executed (open_request()), which also
/// is what the responses, factories and states made for it belong to. The latter are never freed: each is used again
/// only after many others.
struct TRITONBACKEND_Request {
  static constexpr uint32_t kInnerInputs = 8;

  TRITONBACKEND_Request() noexcept = default;
  TRITONBACKEND_Request(const TRITONBACKEND_Request&) = delete;
  TRITONBACKEND_Request& operator=(const TRITONBACKEND_Request&) = delete;

  std::atomic<atl::Request*> request{nullptr};  ///< null: it is no longer the caller's
  bool read_only = false;
  TRITONBACKEND_Input inner_inputs[kInnerInputs];
  std::unique_ptr<std::deque<TRITONBACKEND_Input>> more_inputs;

  // --- of a request that is executed; under the mutex ---
  std::mutex mutex;
  atl::triton::ResponseState channel = atl::triton::ResponseState::kEnded;
  bool was_cancelled = false;         ///< when the channel was closed
  bool is_reported = false;           ///< by TRITONBACKEND_ModelInstanceReportStatistics
  atl::Code answer = atl::Code::kOk;  ///< of the last response that was sent
  uint32_t responses_sent = 0;
  uint64_t responses_reported = 0;  ///< by TRITONBACKEND_ModelInstanceReportResponseStatistics
  /// Released to be executed again, which it is when its unsent responses were sent or deleted.
  bool is_given_back = false;
  /// Factories and unsent responses; and 1 while the request is the caller's, or was given back but is not executed
  /// again yet.
  uint32_t references = 0;
  atl::Request* origin = nullptr;         ///< valid while the channel is open, or the request is the caller's
  atl::ResponseSink* sink = nullptr;      ///< valid while the channel is open
  const atl::ModelInfo* model = nullptr;  ///< null: not known
  atl::triton::ReportedExecution execution;
  TRITONBACKEND_Response* responses = nullptr;  ///< that were not sent
  atl::triton::SinkCalls sink_calls;
  TRITONBACKEND_State* states = nullptr;
  TRITONSERVER_InferenceTrace* trace = nullptr;  ///< null: it was not asked for, or there is none

  // --- of the pool ---
  std::atomic<uint64_t> use{0};  ///< counts the requests that it was for
  TRITONBACKEND_Request* next_free = nullptr;
  uint32_t shard = 0;

  TRITONBACKEND_Input& input(uint32_t index) noexcept {
    return index < kInnerInputs ? inner_inputs[index] : (*more_inputs)[index - kInnerInputs];
  }
  /// Before foreign code gets the handle.
  void show_inputs(const atl::Request& of) noexcept {
    const uint32_t count = of.inputs.size();
    if (count > kInnerInputs) {
      if (more_inputs == nullptr) more_inputs = std::make_unique<std::deque<TRITONBACKEND_Input>>();
      while (more_inputs->size() < count - kInnerInputs) more_inputs->emplace_back();
    }
    for (uint32_t i = 0; i < count; ++i) input(i).tensor.store(&of.inputs[i], std::memory_order_relaxed);
  }
  /// From now on they are stale.
  void hide_inputs() noexcept {
    for (TRITONBACKEND_Input& one : inner_inputs) {
      if (!hide(one)) return;
    }
    if (more_inputs == nullptr) return;
    for (TRITONBACKEND_Input& one : *more_inputs) {
      if (!hide(one)) return;
    }
  }

 private:
  /// False: this one was not used, so none after it was.
  static bool hide(TRITONBACKEND_Input& input) noexcept {
    if (input.tensor.exchange(nullptr, std::memory_order_relaxed) == nullptr) return false;
    if (input.attributes.load(std::memory_order_relaxed) == nullptr) return true;
    atl::triton::free_attributes(input.attributes.exchange(nullptr, std::memory_order_relaxed));
    return true;
  }
};

namespace atl::triton {

/// A handle for code that only reads the request, and only while this lives; everything else is INVALID_ARG. On the
/// stack: it allocates nothing for up to kInnerInputs inputs.
class RequestView {
 public:
  explicit RequestView(Request& request) noexcept {
    handle_.read_only = true;
    handle_.request.store(&request, std::memory_order_relaxed);
    handle_.show_inputs(request);
  }
  ~RequestView() { handle_.hide_inputs(); }
  TRITONBACKEND_Request* handle() noexcept { return &handle_; }

 private:
  TRITONBACKEND_Request handle_;
};

/// One execution of a request by foreign code. The handle may be used again for another request as soon as the
/// foreign code has released this one; `use` tells them apart. A value. [any]
struct OpenRequest {
  TRITONBACKEND_Request* handle = nullptr;
  uint64_t use = 0;
};

/// A handle for a request that is about to be executed: the foreign code that gets it answers and releases the
/// request by it. A request that is released without a final response, and that no factory or unsent response is left
/// of, is answered with an INTERNAL error.
OpenRequest open_request(Request& request) noexcept;

/// Whether the foreign code has neither released nor rescheduled the request.
bool is_held(const OpenRequest& open) noexcept;

/// For a request that the foreign code did not take, or not properly, and uses no more: unsent responses are dropped,
/// `failure` is the answer if there was no final one yet, it is reported as failed if the foreign code has reported
/// nothing, and released.
/// \param reporter  null: nothing is reported
/// \returns false: the foreign code has released the request itself; nothing is done
bool end_request(const OpenRequest& open, Status failure, InferenceReporter* reporter) noexcept;

}  // namespace atl::triton
