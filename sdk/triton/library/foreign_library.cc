#include "atoll/triton/foreign_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/triton/host.h"
#include "server_alias.h"

namespace atl::triton {

Result<ForeignLibrary> ForeignLibrary::open(const std::string& path) {
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
  ForeignLibrary library;
  library.path_ = path;
  library.object_ = std::move(object).value();
  return library;
}

Status ForeignLibrary::missing(const char* name) const {
  return invalid_argument("unable to find required entrypoint '", name, "' in shared library: ", path_,
                          ": undefined symbol: ", name);
}

bool ForeignLibrary::close_and_look(const void* inside) noexcept {
  object_ = {};
  Dl_info ignored;
  return ::dladdr(inside, &ignored) != 0;
}

void ForeignLibrary::leave_mapped() noexcept { object_.leave_open(); }

bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

std::string find_library_file(const std::vector<std::string>& directories, std::string_view folder,
                              std::string_view file) {
  if (!is_plain_name(folder) || !is_plain_name(file)) return {};
  for (const std::string& directory : directories) {
    std::string path = cat(directory, "/", folder, "/", file);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return {};
}

}  // namespace atl::triton
