/// An infer request with its tensors: what one instance runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "atoll/core/status.h"
#include "backends/openvino/compiled_model.h"

namespace atl::openvino {

/// A view of a tensor of the library, valid until the next run or change of its shape.
struct OvView {
  void* data = nullptr;
  std::vector<int64_t> shape;
};

/// Not thread safe.
class OvRun {
 public:
  /// \param plan  outlives this
  /// Errors: INTERNAL those of the library.
  static Result<std::unique_ptr<OvRun>> make(std::shared_ptr<const OvCompilation> on,
                                             const OvModelPlan& plan) noexcept;

  const std::shared_ptr<const OvCompilation>& compilation() const noexcept { return on_; }
  /// Gives input i the shape. What it is to have is written to the result, in row-major order; BYTES are std::strings.
  /// Errors: INTERNAL those of the library: no memory.
  Result<void*> shape_input(size_t i, std::span<const int64_t> shape) noexcept;
  /// Lets input i be read from `data`, which must stay until run() has returned. Not for BYTES.
  Status use_input(size_t i, std::span<const int64_t> shape, void* data) noexcept;
  /// Runs the model, and waits.
  Status run() noexcept;
  /// What the last run has made of output i. Of BYTES: std::strings.
  Result<const OvView*> output(size_t i) noexcept;

 private:
  struct Tensor {
    Handle<OvTensor> own;       ///< the request's
    Handle<OvTensor> borrowed;  ///< of the caller's memory; null: own is in use
    OvView view;                ///< of own
  };
  OvRun(std::shared_ptr<const OvCompilation> on, const OvModelPlan& plan) noexcept
      : on_(std::move(on)), plan_(plan) {}
  Status read_view(Tensor& tensor) noexcept;

  std::shared_ptr<const OvCompilation> on_;  // before request_, which is freed first
  const OvModelPlan& plan_;
  Handle<OvInferRequest> request_;
  std::vector<Tensor> inputs_, outputs_;
};

}  // namespace atl::openvino
