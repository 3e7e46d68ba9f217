/// Shared objects from outside: looked at before the dynamic linker may touch them, and opened so that what
/// is wrong with one is said in a sentence.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "atoll/core/status.h"

namespace atl::runtime {

/// Tells one build of a file from the next one under the same path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Looks at the file without running anything of it and without blocking: a regular file, of this machine,
/// with every loadable segment inside the file. (The dynamic linker maps a truncated file and dies of SIGBUS;
/// a file of another machine it calls missing; opening a FIFO it would wait for ever. All else it reports
/// well itself.) Errors: FAILED_PRECONDITION, or NOT_FOUND, with the path.
Result<FileIdentity> inspect_shared_object(const std::string& path);

/// One opened shared object, closed with this object. [any]
class SharedObject {
 public:
  /// Inspects and opens the file. A file that replaced one which is still open is opened beside it; the same
  /// file opened twice is one object with one set of globals. Errors: those of inspect_shared_object() and
  /// open_as().
  static Result<SharedObject> open(const std::string& path);
  /// Only opens: every symbol bound now, nothing visible to other objects, initialisers run.
  /// \param spelled  the path as the dynamic linker is told it; it answers a path it knows with what it
  ///                 mapped for it then.
  /// \param path     how errors name the file.
  /// Errors: FAILED_PRECONDITION with the dynamic linker's reason.
  static Result<SharedObject> open_as(const std::string& spelled, const std::string& path);

  /// From now on what this copy of the library opens, and what is loaded for that, finds its own symbols before those
  /// that others have made global. Not under sanitizers, which refuse that.
  static void prefer_own_symbols() noexcept;

  SharedObject() noexcept = default;
  SharedObject(SharedObject&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedObject& operator=(SharedObject&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedObject();

  /// The address of a symbol of this object or of one that it needs; null if there is none.
  void* symbol(const char* name) const noexcept;
  /// It is never closed; no other call follows.
  void leave_open() noexcept { handle_ = nullptr; }

 private:
  explicit SharedObject(void* handle) noexcept : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace atl::runtime
