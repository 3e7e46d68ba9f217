#include "backends/pytorch/late_backend.h"

#include <utility>

#include "atoll/runtime/shared_object.h"

namespace atl::pytorch {

Result<Backend*> LateBackend::backend() noexcept {
  std::lock_guard lock(mutex_);
  if (backend_ != nullptr) return backend_.get();
  Result<runtime::SharedObject> library = runtime::SharedObject::open(library_);
  if (!library.ok()) return std::move(library).status();
  const auto make = reinterpret_cast<MakeBackend>(library->symbol(kMakeBackend));
  const auto free = reinterpret_cast<FreeBackend>(library->symbol(kFreeBackend));
  if (make == nullptr || free == nullptr)
    return make_status(Code::kFailedPrecondition, library_, " is not the library of this backend");
  library->leave_open();  // libtorch can not be closed
  backend_ = {make(clock_, log_, intra_op_threads_), free};
  return backend_.get();
}

Result<std::unique_ptr<BackendModel>> LateBackend::load(const ModelSource& source) noexcept {
  Result<Backend*> opened = backend();
  if (!opened.ok()) return std::move(opened).status();
  return (*opened)->load(source);
}

}  // namespace atl::pytorch
