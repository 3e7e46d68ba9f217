/// One model instance of a foreign backend.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/triton/request.h"
#include "backends/triton/foreign_model.h"

namespace atl::triton {

/// From ModelInstanceInitialize to ModelInstanceFinalize.
class ForeignInstance final : public BackendInstance {
 public:
  /// Calls ModelInstanceInitialize. [worker] Errors: its own; INTERNAL it threw; LoadCalls::run()
  static Result<std::unique_ptr<BackendInstance>> create(std::shared_ptr<ForeignModel> model,
                                                         const InstanceSpec& spec);
  ForeignInstance(const ForeignInstance&) = delete;
  ForeignInstance& operator=(const ForeignInstance&) = delete;
  ~ForeignInstance() override;

  /// Never fails: requests that the backend did not take are answered with what it said.
  Status execute(const Batch& batch) noexcept override;
  bool ready() const noexcept override;
  /// The first line of what the backend says of it.
  std::string unready_reason() const override;

 private:
  ForeignInstance(std::shared_ptr<ForeignModel> model, const InstanceSpec& spec);
  Status call_initialize();
  Status run(const Batch& batch) noexcept;
  Status readiness() const;

  std::shared_ptr<ForeignModel> model_;
  /// The C API knows no const: it is asked whether it is ready.
  mutable TRITONBACKEND_ModelInstance handle_;
  std::mutex* turn_ = nullptr;  ///< null: it executes whenever it is told to
  bool initialized_ = false;
  std::vector<OpenRequest> open_;  ///< of the batch
  std::vector<TRITONBACKEND_Request*> handles_;
};

}  // namespace atl::triton
