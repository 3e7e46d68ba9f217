/// One backend of a foreign library.
#pragma once

#include <memory>
#include <string>

#include "atoll/log.h"
#include "atoll/triton/backend.h"
#include "backends/triton/library/backend_library.h"

namespace atl::triton {

/// From Initialize to Finalize. Outlived by its library. [worker]
class ForeignBackend {
 public:
  struct Identity {
    std::string name;         ///< of the configurations' `backend`
    std::string artifacts;    ///< folder of its files
    std::string config_json;  ///< settings
  };

  /// Calls Initialize and GetBackendAttribute. Errors: theirs, or INTERNAL they threw.
  static Result<std::shared_ptr<ForeignBackend>> create(const BackendLibrary& library, Identity identity,
                                                        MemoryManager& memory, Log& log);
  ForeignBackend(const ForeignBackend&) = delete;
  ForeignBackend& operator=(const ForeignBackend&) = delete;
  ~ForeignBackend();

  const std::string& name() const noexcept { return handle_.name; }
  const EntryPoints& entries() const noexcept { return library_.entries(); }
  const BackendTraits& traits() const noexcept { return attributes_.traits; }
  TRITONBACKEND_Backend& handle() noexcept { return handle_; }
  Log& log() const noexcept { return log_; }

 private:
  ForeignBackend(const BackendLibrary& library, Identity identity, MemoryManager& memory, Log& log);
  Status initialize();

  const BackendLibrary& library_;
  Log& log_;
  TRITONBACKEND_Backend handle_;
  TRITONBACKEND_BackendAttribute attributes_;
  bool initialized_ = false;
};

}  // namespace atl::triton
