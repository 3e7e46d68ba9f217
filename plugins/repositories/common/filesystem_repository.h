/// Model repositories that are directories of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/models/repository.h"
#include "repositories/common/containment.h"
#include "repositories/common/private_folder.h"
#include "repositories/common/repository_list.h"

namespace atl::filesystem {

/// Longest configuration that is read.
inline constexpr uint64_t kConfigBytesMax = 16 * 1024 * 1024;
/// Most warnings that open() returns for one model; the last one then counts the rest.
inline constexpr size_t kIgnoredMax = 64;

struct RepositorySettings {
  std::vector<std::string> paths = {};     ///< at least one, local directories
  bool allow_missing_paths = false;        ///< those that cannot be listed yet are left out until they can
  bool missing_paths_fail_health = false;  ///< until those have been there
  bool follow_links = false;               ///< links may lead out of a repository
  std::vector<std::string> linked_paths = {};  ///< directories that links may lead into, else
  /// What messages call the option that `linked_paths` comes from.
  std::string linked_paths_option = "plugin.repository.linked_paths";
  bool namespacing = false;          ///< models are known as "<repository>::<name>"
  std::string config_name = {};      ///< not empty: configs/<name>.pbtxt is preferred to config.pbtxt
  uint64_t files_max = 1'000'000;    ///< most files and directories in one model directory
  std::string files_directory = {};  ///< where open_files() writes; empty: the system's temporary directory
  Clock* clock = nullptr;            ///< whose wall time is the files'; null: the system's
  Log* log = nullptr;  ///< told once of each directory whose name cannot be a model's; may be null
};

/// Errors: INVALID_ARGUMENT it is no name of a file.
Status check_config_name(const std::string& name);

/// Keeps nothing of the repositories between calls but which there are and whether they have been there, so several may
/// run at once; every call sees the disk as it is then.
class FilesystemRepository final : public Repository {
 public:
  explicit FilesystemRepository(RepositorySettings settings);

  /// Looks at every repository once. \param missing  gets the failures of those that may be missing; to be
  /// given where there may be such (`allow_missing_paths`)
  /// Errors: INTERNAL "failed to stat file <path>: <reason>"; INVALID_ARGUMENT "repository path is not a
  /// valid directory: <path>", a path or configuration name that cannot be meant; UNAVAILABLE "<path>:
  /// <reason>" it cannot be listed.
  Status check(std::vector<Status>* missing = nullptr);
  /// Goes on where the one before ends: what was added or removed while that one ran, and which repositories have been
  /// there. Before the first other call.
  void succeed(const FilesystemRepository& before) {
    list_.succeed(before.list_, settings_.paths, before.settings_.paths);
  }
  /// Those there are, to be changed.
  RepositoryPaths& paths() noexcept { return list_; }

  Result<std::vector<RepositoryEntry>> list() noexcept override;
  Result<RepositoryModel> open(std::string_view name) noexcept override;
  Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept override;
  Result<PrivateModel> open_files(std::string_view name,
                                  const std::vector<RepositoryFile>& files) noexcept override;
  bool is_complete() const noexcept override;
  Result<RepositoryModel> open_at(std::string_view name, const std::string& path) noexcept override;

 private:
  struct Root {
    std::string path;  ///< as configured, without slashes at the end
    Containment containment;
    std::shared_ptr<const ListedRepository> listed{};  ///< null: it is in no list
  };
  /// A model directory that was found.
  struct Home {
    Root root;
    RepositoryEntry entry;
    Found directory;
  };
  /// One that has never been there is left out, if it may be missing.
  Result<std::vector<Root>> open_roots() const;
  Result<Home> find_model(std::string_view name) const;
  Result<RepositoryModel> open_model(std::string_view name) const;
  Result<RepositoryModel> read_elsewhere(std::string_view name, const std::string& path) const;
  Result<RepositoryModel> read_model(const Home& home) const;
  Result<std::vector<RepositoryStamp>> read_stamps(std::string_view name) const;
  Result<PrivateModel> open_private(std::string_view name, const std::vector<RepositoryFile>& files);
  std::vector<std::string> config_names() const;
  bool is_elsewhere(const Root& root, std::string_view* name) const;
  Status read_config(const Home& home, RepositoryModel* model) const;
  Status read_versions(const Containment& containment, const Found& directory, RepositoryModel* model) const;

  /// Of directories that list() left out.
  void report_unnamed(const std::vector<std::string>& unnamed);

  const RepositorySettings settings_;
  const LinkRules links_;
  RepositoryList list_;
  std::mutex mutex_;
  std::set<std::string> told_;                     ///< some of them; bounded
  std::shared_ptr<PrivateFolder> private_folder_;  ///< made when it is first needed
};

}  // namespace atl::filesystem
