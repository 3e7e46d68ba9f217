/// The backend as the server sees it, before libtorch is there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "backends/pytorch/torch_library.h"

namespace atl::pytorch {

/// Opens the library when the first model is loaded; after a failure it is tried again with the next one. [any]
class LateBackend final : public Backend {
 public:
  /// \param clock, log  outlive every model
  LateBackend(const Clock& clock, Log& log) noexcept : clock_(clock), log_(log) {}

  /// Before any model is loaded. \param library  path of the shared object
  void open(std::string library, int64_t intra_op_threads) {
    library_ = std::move(library);
    intra_op_threads_ = intra_op_threads;
  }

  BackendTraits traits() const noexcept override {
    return {.preferred_groups = {{InstanceKind::kCpu, 0, {}}}};
  }
  /// A file says nothing of shapes and types: what the configuration leaves out cannot be completed.
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  /// Errors also: FAILED_PRECONDITION the library, or libtorch, cannot be opened, with the dynamic linker's reason.
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  Result<Backend*> backend() noexcept;

  const Clock& clock_;
  Log& log_;
  std::string library_;
  int64_t intra_op_threads_ = 1;
  std::mutex mutex_;  // guards the following
  std::unique_ptr<Backend, FreeBackend> backend_{nullptr, nullptr};
};

}  // namespace atl::pytorch
