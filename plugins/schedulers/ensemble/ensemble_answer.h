/// What a run answers: its responses, and the bytes of their outputs.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/request/request.h"
#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/step_values.h"

namespace atl::ensemble {

class EnsembleScheduler;

/// Outputs are written right where the client wants them, or copied there from the values of steps. Belongs to a
/// run, whose lock is held unless something else is said.
class EnsembleAnswer {
 public:
  /// A response that is to be sent, and what it says of its sequence.
  struct Due {
    Response* response = nullptr;  ///< null: it is to be copied
    SequenceFields sequence;
    std::string sequence_text;  ///< its id's, as the step's response may be gone
  };

  /// Both outlive this.
  EnsembleAnswer(EnsembleScheduler& ensemble, StepValues& values) noexcept
      : ensemble_(ensemble), values_(values) {}
  EnsembleAnswer(const EnsembleAnswer&) = delete;
  EnsembleAnswer& operator=(const EnsembleAnswer&) = delete;

  /// Answers the request from now on. Both outlive the use.
  void begin(Request& request, const Plan& plan) noexcept;

  // --- outputs that members write into it [any] ---
  /// Whether the output has memory of allocate().
  static bool has(const OutputTensor& output) noexcept { return (output.sink_data & kDirectBit) != 0; }
  /// \param response  the member's, with the output \param tensor  of the plan's outputs
  Status allocate(Response& response, OutputTensor& output, uint32_t tensor, uint64_t size_bytes,
                  MemoryKind kind, int64_t device_id);
  /// The member dropped its response.
  void free(OutputTensor& output) noexcept;

  // --- what has come ---
  /// A response of a member with sequence fields and outputs of the answer.
  void note_sequence(const SequenceFields& fields);
  /// An output that the member has written. \param output  null: it left it out
  void add(uint32_t tensor, uint64_t iteration, OutputTensor* output);
  /// All of a response of the step was added.
  void note_response(uint32_t step);

  // --- what is sent ---
  /// Whether a response can be sent, the last one or not.
  bool is_due() { return is_due(responses_) || (plan_->mode == ResponseMode::kDirect && client_ != nullptr); }
  /// Whether the one after it can be, too.
  bool is_followed() { return is_due(responses_ + 1); }
  Due take_due();
  /// [the only thread that sends, without the lock]
  Status send(Due& due);
  /// It was, or cannot be.
  void end_send();
  /// [the only thread that uses the run, as what follows] The last response; null: there is none.
  Status finish(Response** response);
  /// Drops what was not sent.
  void end() noexcept;
  /// What the last response says of its sequence.
  const SequenceFields& sequence() const noexcept { return sequence_; }

 private:
  struct DirectOutput;
  /// In the sink_data of an output that is written into a response of the request: a pointer to where, and this bit.
  static constexpr uint64_t kDirectBit = 1;

  static DirectOutput& direct_of(const OutputTensor& output) noexcept;
  bool is_due(uint64_t iteration);
  void take_values();
  Status copy(Response** response);
  Status copy_values(Response& response);
  Status finish_once(Response** response);

  EnsembleScheduler& ensemble_;
  StepValues& values_;
  Request* request_ = nullptr;
  const Plan* plan_ = nullptr;
  uint64_t responses_ = 0;     ///< that were sent
  SequenceFields sequence_;    ///< of the last step that made an output
  std::string sequence_text_;  ///< its id's, since the step's response may be gone when it is sent
  std::vector<Value> taken_;   ///< of the response that is made, in the order of the plan's outputs

  std::mutex client_mutex_;     ///< one call of the request's sink at a time, while steps run
  Response* client_ = nullptr;  ///< the response of ResponseMode::kOnce; the last one of kDirect
  Response* discarded_ = nullptr;
  bool client_broken_ = false;
};

}  // namespace atl::ensemble
