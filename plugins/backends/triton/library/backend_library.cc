#include "backends/triton/library/backend_library.h"

#include <utility>

namespace atl::triton {

/// In the order of the reference server, which whoever stands between a backend and the linker may see.
Result<BackendLibrary> BackendLibrary::open(const std::string& path) {
  Result<ForeignLibrary> opened = ForeignLibrary::open(path);
  if (!opened.ok()) return std::move(opened).status();
  BackendLibrary library;
  library.library_ = std::move(opened).value();
  const ForeignLibrary& file = library.library_;
  EntryPoints& entries = library.entries_;
  file.find("TRITONBACKEND_Initialize", entries.initialize);
  file.find("TRITONBACKEND_Finalize", entries.finalize);
  file.find("TRITONBACKEND_GetBackendAttribute", entries.attributes);
  file.find("TRITONBACKEND_ModelInitialize", entries.model_initialize);
  file.find("TRITONBACKEND_ModelFinalize", entries.model_finalize);
  file.find("TRITONBACKEND_ModelInstanceInitialize", entries.instance_initialize);
  file.find("TRITONBACKEND_ModelInstanceFinalize", entries.instance_finalize);
  ATOLL_RETURN_IF_ERROR(file.require("TRITONBACKEND_ModelInstanceExecute", entries.execute));
  file.find("TRITONBACKEND_ModelInstanceReady", entries.instance_ready);
  return library;
}

}  // namespace atl::triton
