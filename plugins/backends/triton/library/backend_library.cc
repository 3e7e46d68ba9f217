#include "backends/triton/library/backend_library.h"

#include <dlfcn.h>

#include <type_traits>
#include <utility>

#include "atoll/triton/host.h"
#include "backends/triton/library/server_alias.h"

namespace atl::triton {
namespace {

constexpr const char* kExecute = "TRITONBACKEND_ModelInstanceExecute";

template <class Function>
void find(const runtime::SharedObject& object, const char* name, Function& function) {
  function = reinterpret_cast<Function>(object.symbol(name));
}

/// In the order of the reference server, which whoever stands between a backend and the linker may see.
EntryPoints find_all(const runtime::SharedObject& object) {
  EntryPoints entries;
  find(object, "TRITONBACKEND_Initialize", entries.initialize);
  find(object, "TRITONBACKEND_Finalize", entries.finalize);
  find(object, "TRITONBACKEND_GetBackendAttribute", entries.attributes);
  find(object, "TRITONBACKEND_ModelInitialize", entries.model_initialize);
  find(object, "TRITONBACKEND_ModelFinalize", entries.model_finalize);
  find(object, "TRITONBACKEND_ModelInstanceInitialize", entries.instance_initialize);
  find(object, "TRITONBACKEND_ModelInstanceFinalize", entries.instance_finalize);
  find(object, kExecute, entries.execute);
  find(object, "TRITONBACKEND_ModelInstanceReady", entries.instance_ready);
  return entries;
}

}  // namespace

Result<BackendLibrary> BackendLibrary::open(const std::string& path) {
  // First, because it reads the file: what is broken is said there in a sentence.
  if (auto identity = runtime::inspect_shared_object(path); !identity.ok()) {
    return make_status(identity.status().code(), "unable to load shared library: ", identity.status().text());
  }
  make_global();
  ATOLL_RETURN_IF_ERROR(provide_server_names(path));
  Result<runtime::SharedObject> object = runtime::SharedObject::open(path);
  if (!object.ok()) {
    return make_status(object.status().code(), "unable to load shared library: ", object.status().text());
  }
  BackendLibrary library;
  library.path_ = path;
  library.object_ = std::move(object).value();
  library.entries_ = find_all(library.object_);
  if (library.entries_.execute != nullptr) return library;
  return invalid_argument("unable to find required entrypoint '", kExecute, "' in shared library: ", path,
                          ": undefined symbol: ", kExecute);
}

bool BackendLibrary::close_and_look() noexcept {
  const auto* inside = reinterpret_cast<const void*>(entries_.execute);
  object_ = {};
  Dl_info ignored;
  return ::dladdr(inside, &ignored) != 0;
}

void BackendLibrary::leave_mapped() noexcept { (void)new runtime::SharedObject(std::move(object_)); }

}  // namespace atl::triton
