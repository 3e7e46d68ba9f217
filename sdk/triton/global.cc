#include <dlfcn.h>

#include "atoll/triton/host.h"

namespace atl::triton {

void make_global() noexcept {
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void*>(&make_global), &self) == 0) return;
  // It is open already: this changes who sees it. The library is never closed, so the handle may go.
  void* handle = ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  if (handle != nullptr) ::dlclose(handle);
}

}  // namespace atl::triton
