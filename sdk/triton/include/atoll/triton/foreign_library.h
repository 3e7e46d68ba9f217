/// Shared objects made for Triton: backends, caches, repository agents. Of the target atoll_foreign_library, which a plugin
/// that hosts such code links beside atoll::triton.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/runtime/shared_object.h"

namespace atl::triton {

/// Open as long as this object lives. Move-only. [any]
class ForeignLibrary {
 public:
  /// Opens it so that nobody else sees its symbols, every one of them bound, and runs its initialisers. It finds this
  /// process's libtritonserver.so, also if it was linked without one or with one of another name. [worker]
  /// Errors: FAILED_PRECONDITION or NOT_FOUND "unable to load shared library: <the dynamic linker's reason>".
  static Result<ForeignLibrary> open(const std::string& path);

  const std::string& path() const noexcept { return path_; }

  /// Sets the function to the library's of that name, null if it has none. Names of the server's library must not be
  /// asked for: they would be found in there.
  template <class Function>
  void find(const char* name, Function& function) const noexcept {
    function = reinterpret_cast<Function>(object_.symbol(name));
  }
  /// find(), where the function has to be there.
  /// Errors: INVALID_ARGUMENT "unable to find required entrypoint '<name>' in shared library: <path>: ...".
  template <class Function>
  Status require(const char* name, Function& function) const {
    find(name, function);
    return function != nullptr ? Status() : missing(name);
  }

  /// Closes it and says whether it is mapped all the same: by another who has it open, or because it cannot be
  /// unmapped. No other call follows.
  /// \param inside  address of one of its functions
  bool close_and_look(const void* inside) noexcept;
  /// It stays mapped until the process ends. No other call follows.
  void leave_mapped() noexcept;

 private:
  Status missing(const char* name) const;

  std::string path_;
  runtime::SharedObject object_;
};

/// Whether the name is one of a file or folder, and does not lead elsewhere.
bool is_plain_name(std::string_view name) noexcept;

/// "<directory>/<folder>/<file>" of the first directory where it is a file; empty: there is none, or a name leads
/// elsewhere. [worker]
std::string find_library_file(const std::vector<std::string>& directories, std::string_view folder,
                              std::string_view file);

}  // namespace atl::triton
