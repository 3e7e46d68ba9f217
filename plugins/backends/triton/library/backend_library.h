/// A shared object made for Triton, with what it exports as a backend.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/status.h"
#include "atoll/triton/foreign_library.h"
#include "backends/triton/load_calls.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

/// Null where it has none; execute is always there. Of the backend: no name of the server's library is among them.
struct EntryPoints {
  template <class... Parameters>
  using Function = TRITONSERVER_Error* (*)(Parameters...);

  Function<TRITONBACKEND_Backend*> initialize = nullptr;
  Function<TRITONBACKEND_Backend*> finalize = nullptr;
  Function<TRITONBACKEND_Backend*, TRITONBACKEND_BackendAttribute*> attributes = nullptr;
  Function<TRITONBACKEND_Model*> model_initialize = nullptr;
  Function<TRITONBACKEND_Model*> model_finalize = nullptr;
  Function<TRITONBACKEND_ModelInstance*> instance_initialize = nullptr;
  Function<TRITONBACKEND_ModelInstance*> instance_finalize = nullptr;
  Function<TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, const uint32_t> execute = nullptr;
  Function<TRITONBACKEND_ModelInstance*> instance_ready = nullptr;
};

/// Open as long as this object lives. Move-only. [any]
class BackendLibrary {
 public:
  /// Errors: as ForeignLibrary::open(); as ForeignLibrary::require() of execute. [worker]
  static Result<BackendLibrary> open(const std::string& path);

  const std::string& path() const noexcept { return library_.path(); }
  const EntryPoints& entries() const noexcept { return entries_; }
  /// Never null.
  const std::shared_ptr<LeftCalls>& left_calls() const noexcept { return left_calls_; }

  /// As ForeignLibrary's. No other call follows.
  bool close_and_look() noexcept {
    return library_.close_and_look(reinterpret_cast<const void*>(entries_.execute));
  }
  void leave_mapped() noexcept { library_.leave_mapped(); }

 private:
  ForeignLibrary library_;
  EntryPoints entries_;
  std::shared_ptr<LeftCalls> left_calls_ = std::make_shared<LeftCalls>();
};

}  // namespace atl::triton
