/// Traces: those that a program makes, and those of requests as foreign code is shown them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "triton/core/tritonserver.h"

/// [any] Texts are borrowed from it.
struct TRITONSERVER_InferenceTrace {
  virtual uint64_t id() const noexcept = 0;
  virtual uint64_t parent_id() const noexcept = 0;
  virtual const char* model_name() const noexcept = 0;
  virtual int64_t model_version() const noexcept = 0;
  virtual const char* request_id() const noexcept = 0;
  virtual const char* context() const noexcept = 0;
  virtual TRITONSERVER_Error* set_context(const char* text) = 0;
  /// \param timestamp_ns  0: now
  virtual void report_custom(uint64_t timestamp_ns, const char* name) = 0;
  /// Of a request that is made on behalf of this one's; the caller's.
  virtual TRITONSERVER_InferenceTrace* spawn() = 0;
  /// TRITONSERVER_InferenceTraceDelete.
  virtual TRITONSERVER_Error* remove() = 0;

  // --- by TRITONSERVER_ServerInferAsync ---
  /// Takes the trace. False: it is not the caller's.
  virtual bool take() noexcept = 0;
  /// Of what was taken: the trace of this request, to be released. Null: nothing is recorded. Once, and last.
  virtual atl::Trace* begin(const atl::ModelInfo& model, std::string_view request_id) noexcept = 0;
  /// Whether the handle is valid as long as the request is, and not gone with begin().
  virtual bool outlives_begin() const noexcept = 0;
  /// Instead of begin(): there was no request.
  virtual void drop() noexcept = 0;

 protected:
  ~TRITONSERVER_InferenceTrace() = default;
};

namespace atl::triton {

/// What a program wants to be told.
struct TraceCallbacks {
  uint32_t level = 0;  ///< bits of TRITONSERVER_InferenceTraceLevel
  TRITONSERVER_InferenceTraceActivityFn_t activity = nullptr;
  TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity = nullptr;  ///< null: nothing of tensors
  TRITONSERVER_InferenceTraceReleaseFn_t release = nullptr;
  void* userp = nullptr;
};

/// A trace of the program's; it deletes it when it is told that the server has released it.
TRITONSERVER_InferenceTrace* new_program_trace(const TraceCallbacks& callbacks, uint64_t parent_id);

/// A request's own trace as a handle for foreign code, in the request's arena; for who holds the request. The very
/// trace of the program that made the request, if it is its own. Null: the request is not traced.
TRITONSERVER_InferenceTrace* show_trace(Request& request) noexcept;

}  // namespace atl::triton
