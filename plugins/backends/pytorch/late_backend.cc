#include "backends/pytorch/late_backend.h"

#include <dlfcn.h>

#include <utility>

namespace atl::pytorch {

Result<Backend*> LateBackend::backend() noexcept {
  std::lock_guard lock(mutex_);
  if (backend_ != nullptr) return backend_.get();
  void* const library =
      ::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: libtorch cannot be
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return make_status(Code::kFailedPrecondition,
                       "PyTorch cannot be used: ", reason == nullptr ? library_ : reason);
  }
  const auto make = reinterpret_cast<MakeBackend>(::dlsym(library, kMakeBackend));
  const auto free = reinterpret_cast<FreeBackend>(::dlsym(library, kFreeBackend));
  if (make == nullptr || free == nullptr)
    return make_status(Code::kFailedPrecondition, library_, " is not the library of this backend");
  backend_ = {make(clock_, log_, intra_op_threads_), free};
  return backend_.get();
}

Result<std::unique_ptr<BackendModel>> LateBackend::load(const ModelSource& source) noexcept {
  Result<Backend*> opened = backend();
  if (!opened.ok()) return std::move(opened).status();
  return (*opened)->load(source);
}

}  // namespace atl::pytorch
