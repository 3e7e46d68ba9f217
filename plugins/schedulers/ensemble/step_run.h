/// One execution of a step: the request to the member, and its answers.
#pragma once

#include <cstdint>

#include "atoll/request/inner_request.h"
#include "atoll/request/statistics.h"
#include "schedulers/ensemble/tensor_values.h"

namespace atl::ensemble {

class EnsembleRun;

/// Belongs to its run, which uses it again and again, for whichever step.
class StepRun final : public InnerRequest {
 public:
  explicit StepRun(EnsembleRun& run) noexcept : run_(run) {}
  virtual ~StepRun() = default;

  EnsembleRun& run() const noexcept { return run_; }

  /// For an iteration of a step, on behalf of the ensemble's request: it has all that but inputs and outputs.
  void begin(uint32_t of_step, uint64_t of_iteration, Request& parent, Cancellation& cancelled_with) noexcept;

  /// Who has asked for it by now; it is due.
  StepRun* next = nullptr;  ///< link for whoever queues it
  uint32_t step = 0;        ///< of the graph
  uint64_t iteration = 0;
  SequenceFields sequence;  ///< of its request
  ExecutionTimes times;     ///< what the member counted; all 0: nothing
  /// The final response of the use that has ended, whoever gives it away; null: it had none.
  Response* last_response = nullptr;
  /// The same, if it came ahead of its bytes: held until the end, because the member still writes to it.
  KeptResponse* ahead = nullptr;
  /// Of a failure in the final response: when to try again.
  uint32_t retry_after_ms = 0;

 private:
  void on_response(Response* response, uint32_t flags) noexcept override;
  void on_end() noexcept override;
  Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes,
                         MemoryKind preferred_kind, int64_t preferred_device_id) noexcept override;
  void free_output(OutputTensor& output) noexcept override;

  EnsembleRun& run_;
};

}  // namespace atl::ensemble
