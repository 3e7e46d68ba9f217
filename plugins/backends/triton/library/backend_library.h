/// A shared object made for Triton, with what it exports as a backend.
#pragma once

#include <string>

#include "atoll/runtime/shared_object.h"
#include "atoll/status.h"
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
  /// Opens it so that nobody else sees its symbols, every one of them bound. Runs its initialisers. [worker]
  /// Errors: FAILED_PRECONDITION "unable to load shared library: <the dynamic linker's reason>"; INVALID_ARGUMENT
  /// "unable to find required entrypoint '<name>' in shared library: <path>: ...".
  static Result<BackendLibrary> open(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  const EntryPoints& entries() const noexcept { return entries_; }

  /// Closes it and says whether it is mapped all the same: by another who has it open, or because it can not be
  /// unmapped. No other call follows.
  bool close_and_look() noexcept;
  /// It stays mapped until the process ends. No other call follows.
  void leave_mapped() noexcept;

 private:
  std::string path_;
  runtime::SharedObject object_;
  EntryPoints entries_;
};

}  // namespace atl::triton
