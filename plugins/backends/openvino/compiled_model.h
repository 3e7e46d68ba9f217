/// A compiled model that is compiled anew before it has kept too much.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "backends/openvino/ov_plan.h"
#include "backends/openvino/settings.h"

namespace atl::openvino {

/// One compilation. Runs of several infer requests of it may go on at once. Immutable but for `shapes`.
struct OvCompilation {
  Handle<OvCompiledModel> model;
  std::vector<Handle<OvPort>> inputs, outputs;  ///< as the plan lists them
  /// The call that runs a model and waits says nothing of a run that has failed, if all of the model has one thread, which is
  /// not the caller's. Such models are run by the two calls that start a run and wait for it.
  bool is_run_apart = false;
  uint32_t number = 0;  ///< of the compilations of its model, from 1 on

 private:
  friend class OvCompiled;
  std::unordered_set<uint64_t> shapes;  ///< that it was run with; under the mutex of OvCompiled
};

/// OpenVINO keeps memory for each new combination of input shapes that a compilation is run with, and frees it only with the
/// compilation. So after a number of them the model is compiled again; instances go over to the new compilation with their next run,
/// and the old one goes with the last run on it. [any]
class OvCompiled {
 public:
  /// \param core, plan, log  outlive this
  /// Errors: INTERNAL, INVALID_ARGUMENT those of the library.
  static Result<std::unique_ptr<OvCompiled>> make(const OvCore& core, Handle<OvModel> model,
                                                  const OvModelPlan& plan, const OvSettings& settings,
                                                  Log& log) noexcept;

  std::shared_ptr<const OvCompilation> current() const noexcept;

  /// Says that a run with these shapes is to come, which the instance has not made on the current compilation just before. Compiles
  /// the model anew if that was run with too many. \returns the compilation to run on
  std::shared_ptr<const OvCompilation> note_shapes(uint64_t shapes_hash) noexcept;

  /// How often the model was compiled: the number of the current compilation.
  uint32_t compilations() const noexcept { return compilations_.load(std::memory_order_acquire); }

 private:
  OvCompiled(const OvCore& core, Handle<OvModel> model, const OvModelPlan& plan, const OvSettings& settings,
             Log& log) noexcept
      : core_(core), plan_(plan), settings_(settings), log_(log), model_(std::move(model)) {}
  Result<std::shared_ptr<OvCompilation>> compile() const;

  const OvCore& core_;
  const OvModelPlan& plan_;
  const OvSettings settings_;
  Log& log_;
  Handle<OvModel> model_;     ///< null: no input is variable, so it is never compiled again
  mutable std::mutex mutex_;  // guards the following, and what is noted in compilations
  std::shared_ptr<OvCompilation> current_;
  std::atomic<uint32_t> compilations_{0};  ///< written under the mutex
};

}  // namespace atl::openvino
