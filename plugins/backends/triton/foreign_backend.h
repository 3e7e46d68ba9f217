/// One backend of a foreign library.
#pragma once

#include <memory>
#include <string>

#include "atoll/triton/backend.h"
#include "backends/triton/foreign_context.h"
#include "backends/triton/library/backend_library.h"
#include "backends/triton/load_calls.h"

namespace atl::triton {

/// From Initialize to Finalize. Its library has to be open as long. [worker]
class ForeignBackend : public std::enable_shared_from_this<ForeignBackend> {
 public:
  struct Identity {
    std::string name;         ///< of the configurations' `backend`
    std::string artifacts;    ///< folder of its files
    std::string config_json;  ///< settings
  };

  ForeignBackend(std::shared_ptr<const BackendLibrary> library, Identity identity,
                 std::shared_ptr<ForeignContext> around, LoadCalls& calls);
  ForeignBackend(const ForeignBackend&) = delete;
  ForeignBackend& operator=(const ForeignBackend&) = delete;
  ~ForeignBackend();

  /// Calls Initialize and GetBackendAttribute. Once. Errors: theirs; INTERNAL they threw; LoadCalls::run()
  Status initialize();
  /// Expires when it is finalised.
  std::weak_ptr<const void> presence() const noexcept { return presence_; }
  /// Makes a call at load. Errors: the call's, LoadCalls::run()
  Status run(const char* function, std::function<Status()> call) const;

  const std::string& name() const noexcept { return handle_.name; }
  const EntryPoints& entries() const noexcept { return library_->entries(); }
  const BackendTraits& traits() const noexcept { return attributes_.traits; }
  TRITONBACKEND_Backend& handle() noexcept { return handle_; }
  Log& log() const noexcept { return around_->log; }
  /// May be null.
  TRITONSERVER_Server* server() const noexcept { return around_->server.get(); }

 private:
  const std::shared_ptr<const void> presence_ = std::make_shared<int>();  ///< first, so that it goes last
  const std::shared_ptr<const BackendLibrary> library_;
  const std::shared_ptr<ForeignContext> around_;
  LoadCalls& calls_;
  TRITONBACKEND_Backend handle_;
  TRITONBACKEND_BackendAttribute attributes_;
  bool initialized_ = false;
};

}  // namespace atl::triton
