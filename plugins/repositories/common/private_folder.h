/// Folders for files that clients bring.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/models/repository.h"
#include "repositories/common/file_access.h"

namespace atl::filesystem {

/// A folder that only this process uses, removed with this object. Folders that processes left behind which
/// did not end in good order are removed when the next one is made: a lock, which the system takes from the
/// dead, tells them from those in use. A directory in the folder that cannot be removed, because the disk is read-only
/// or descriptors have run out, is removed when the next directory is made, at the latest with the folder. [any]
class PrivateFolder {
 public:
  /// \param below  where it is made; empty: the system's temporary directory
  /// Errors: UNAVAILABLE the system's reason.
  static Result<std::shared_ptr<PrivateFolder>> create(const std::string& below);
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();

  /// False when somebody removed it.
  bool exists() const;
  const std::string& path() const noexcept { return path_; }

 private:
  friend class PrivateDirectory;

  PrivateFolder(std::string path, FileDescriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  /// Removes what was left before. Errors: UNAVAILABLE the system's reason.
  Result<std::string> add_directory();
  void remove_directory(const std::string& path) noexcept;

  const std::string path_;
  FileDescriptor lock_;
  std::mutex mutex_;
  std::map<std::string, bool> directories_;  ///< in the folder, by path: whether nobody holds it any more
};

/// The directory of one model, removed with this object.
class PrivateDirectory {
 public:
  /// Errors: those of write_private_files(); nothing is left behind then.
  static Result<std::shared_ptr<const PrivateDirectory>> create(std::shared_ptr<PrivateFolder> folder,
                                                                const std::vector<RepositoryFile>& files);
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory();

  const std::string& path() const noexcept { return path_; }

 private:
  PrivateDirectory(std::shared_ptr<PrivateFolder> folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  const std::shared_ptr<PrivateFolder> folder_;  // outlives the directory in it
  const std::string path_;
};

}  // namespace atl::filesystem
