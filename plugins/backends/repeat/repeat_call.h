/// One request while it is being answered.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"
#include "backends/repeat/repeat_config.h"

namespace atl::repeat {

/// Copies what it needs of the request, because the request may be released long before the last response. It
/// owns itself once it has started and ends when the request is both answered and released. Everything runs
/// on the executor.
class RepeatCall {
 public:
  /// The instance's parts; they outlive the call.
  struct Context {
    const RepeatConfig& config;
    const Clock& clock;
    InferenceReporter* reporter;  ///< null: nothing is reported
    SerialExecutor& executor;
  };

  /// Reads the inputs. The request stays untouched on failure.
  /// Errors: INVALID_ARGUMENT an input is missing, of a wrong size or in GPU memory.
  static Result<std::unique_ptr<RepeatCall>> create(const Context& context, Request& request);

  /// Begins to answer; to be called once.
  static void start(std::unique_ptr<RepeatCall> call) noexcept;

 private:
  RepeatCall(const Context& context, Request& request) noexcept;
  Status read_inputs();
  void wake_at(int64_t time_ns) noexcept;
  static void wake(void* call) noexcept;
  static void abandon(void* call) noexcept;
  /// Does what is due. \returns false if everything is done.
  bool step() noexcept;
  void send_due(int64_t now_ns) noexcept;
  void send_next() noexcept;
  void end_with(Status failure) noexcept;
  Status add_output(Response& response, std::string_view name, uint32_t index) noexcept;
  void release(FailureReason* failure) noexcept;

  Context context_;
  Request* request_;    // its cancellation may be read until the request is answered and released
  ResponseSink* sink_;  // outlives the request until the final flag
  std::vector<std::string_view> outputs_;  // kOut, kIdx
  std::vector<int32_t> values_;
  std::vector<uint32_t> delays_ms_;
  int64_t start_ns_;
  int64_t release_ns_;     // when WAIT is over
  int64_t next_ns_;        // when the next response is due
  uint32_t position_ = 0;  // of the next response
  bool ended_ = false;     // the final flag is sent
  bool released_ = false;
};

}  // namespace atl::repeat
