/// Folders for files that are needed for a while.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

/// A new empty folder which only this user may enter, removed with what is in it when this object goes. [any]
class ScratchFolder {
 public:
  /// None.
  ScratchFolder() noexcept = default;
  /// \param name  its name begins with this \param below  where it is made; empty: the system's temporary directory
  /// Errors: UNAVAILABLE the system's reason.
  static Result<ScratchFolder> make(std::string_view name, const std::string& below = {});
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    ScratchFolder former(std::exchange(path_, std::exchange(other.path_, {})));
    return *this;
  }
  ~ScratchFolder() { (void)remove().ok(); }

  /// Empty: there is none.
  const std::string& path() const noexcept { return path_; }
  /// The folder stays when this object goes.
  void keep() noexcept { path_.clear(); }
  /// Errors: UNAVAILABLE the system's reason; it is not tried again.
  Status remove() noexcept;

 private:
  explicit ScratchFolder(std::string path) noexcept : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace atl
