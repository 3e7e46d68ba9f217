/// Directories that agents ask for.
#pragma once

#include <string>

#include "atoll/core/status.h"

namespace atl::triton {

/// Made empty, for the owner alone, and removed with what is in it when this object ends. Move-only. [any]
class TemporaryDirectory {
 public:
  /// \param below  where it is made; empty: the system's temporary directory. Errors: UNAVAILABLE the system's reason.
  static Result<TemporaryDirectory> create(const std::string& below);
  TemporaryDirectory() noexcept = default;
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory() { (void)remove().ok(); }

  /// Empty: there is none.
  const std::string& path() const noexcept { return path_; }
  /// Errors: UNAVAILABLE the system's reason; it is not tried again.
  Status remove() noexcept;

 private:
  explicit TemporaryDirectory(std::string path) noexcept : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace atl::triton
