/// What of an ensemble has to be executed for a request, by the outputs that it asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/request/request.h"
#include "schedulers/ensemble/step_graph.h"

namespace atl::ensemble {

/// How the responses of a request come about.
enum class ResponseMode : uint8_t {
  kOnce,    ///< one response, whose outputs are written where the client wants them by whoever makes them
  kDirect,  ///< one step makes all outputs, and each of its responses is one of the request's
  kCopied,  ///< values of several branches or steps are brought together, and copied
};

/// For one set of outputs. Vectors are indexed by tensor or step of the graph.
struct Plan {
  std::vector<uint8_t> step_needed;
  /// Inputs of the step that other steps make: it is ready when so many of iteration 0 have come.
  std::vector<uint32_t> step_waits;
  /// Who reads a value of the tensor, of iteration 0 and of each later one: steps, and the response where it is
  /// copied into that.
  std::vector<uint32_t> uses, later_uses;
  std::vector<uint8_t> direct;     ///< its values are written into the response
  std::vector<uint32_t> outputs;   ///< tensors, in the order of Request::outputs
  std::vector<uint32_t> position;  ///< of the tensor in `outputs`; kNone: it was not asked for
  ResponseMode mode = ResponseMode::kOnce;
  uint32_t answering_step = kNone;  ///< of ResponseMode::kDirect
  bool iterates = false;            ///< a response for each value of the outputs, not for the first ones only

  /// Those that are asked for. Keeps the memory it has. \param requested  positions among the ensemble's outputs
  void make(const StepGraph& graph, const std::vector<uint32_t>& requested);

 private:
  void add_steps_above(const StepGraph& graph, uint32_t tensor);
  void choose_mode(const StepGraph& graph);
  void count_uses(const StepGraph& graph);

  std::vector<uint32_t> todo_;
};

/// The plans of one request after the other. Most ask for all outputs, or none, which is all.
class ChosenPlan {
 public:
  /// \param full  of requests for all outputs, in their order; outlives this
  const Plan& choose(const StepGraph& graph, const Plan& full, const Request& request);
  /// The last one that was chosen.
  const Plan* operator->() const noexcept { return plan_; }

 private:
  const Plan* plan_ = nullptr;
  Plan own_;  ///< of a request that does not ask for all outputs
  std::vector<uint32_t> requested_;
};

}  // namespace atl::ensemble
