/// The repositories of the manifest as it is now.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "repositories/common/filesystem_repository.h"

namespace atl::filesystem {

/// Stands before a FilesystemRepository and puts another one in its place when the options change: a call ends with the one
/// that it began with. [any]
class FollowingRepository final : public Repository, public RepositoryPaths {
 public:
  explicit FollowingRepository(RepositorySettings settings);
  virtual ~FollowingRepository() = default;

  /// Calls go on with these settings. What was added or removed by RepositoryPaths stays so.
  void follow(RepositorySettings settings);
  Status check(std::vector<Status>* missing) { return now()->check(missing); }

  Result<std::vector<RepositoryEntry>> list() noexcept override { return now()->list(); }
  Result<RepositoryModel> open(std::string_view name) noexcept override { return now()->open(name); }
  Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept override {
    return now()->stamps(name);
  }
  Result<PrivateModel> open_files(std::string_view name,
                                  const std::vector<RepositoryFile>& files) noexcept override {
    return now()->open_files(name, files);
  }
  Result<RepositoryModel> open_at(std::string_view name, const std::string& path) noexcept override {
    return now()->open_at(name, path);
  }
  bool is_complete() const noexcept override { return now()->is_complete(); }

  Status add(std::string_view path, std::span<const NamedDirectory> names) noexcept override {
    return now()->paths().add(path, names);
  }
  Status remove(std::string_view path) noexcept override { return now()->paths().remove(path); }
  std::vector<std::string> paths() const noexcept override { return now()->paths().paths(); }

 private:
  std::shared_ptr<FilesystemRepository> now() const {
    std::scoped_lock lock(mutex_);
    return now_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<FilesystemRepository> now_;  // guarded by mutex_
};

}  // namespace atl::filesystem
