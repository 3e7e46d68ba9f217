/// Which repositories there are, and what the directories in them are called.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/repository_paths.h"
#include "repositories/common/containment.h"

namespace atl::filesystem {

/// Between repository and name, with namespacing.
inline constexpr std::string_view kNamespaceEnd = "::";

std::string without_trailing_slashes(std::string path);

/// Whether it is a repository as it has to be at a start.
/// Errors: INTERNAL "failed to stat file <path>: <reason>"; INVALID_ARGUMENT "repository path is not a valid directory:
/// <path>"; UNAVAILABLE "<path>: <reason>" it cannot be listed.
Status check_directory(const std::string& path, const LinkRules& links);

struct ListedRepository {
  std::string path;  ///< as it was named
  /// Directories of models that are called otherwise, by those names. One may have several.
  std::map<std::string, std::string, std::less<>> directories{};
  mutable std::atomic<bool> was_seen{false};  ///< it has been there

  bool gives_name(std::string_view model) const { return directories.find(model) != directories.end(); }
  /// What the model in a directory is called: nothing if another directory was given its name.
  std::vector<std::string> models_in(const std::string& directory) const;
  /// Where the model is, if it is here; nothing: that name is a directory's whose model is called otherwise.
  std::optional<std::string> directory_of(std::string_view model) const;
};

/// [any]
class RepositoryList final : public RepositoryPaths {
 public:
  RepositoryList(const std::vector<std::string>& paths, bool namespacing, LinkRules links);
  virtual ~RepositoryList() = default;

  std::vector<std::shared_ptr<ListedRepository>> all() const;
  bool were_all_seen() const noexcept;
  /// Takes over what was added to and removed from another list, and what it knows of the repositories of both.
  /// \param wanted, wanted_before  what this one and the other were made of
  void succeed(const RepositoryList& before, const std::vector<std::string>& wanted,
               const std::vector<std::string>& wanted_before);

  Status add(std::string_view path, std::span<const NamedDirectory> names) noexcept override;
  Status remove(std::string_view path) noexcept override;
  std::vector<std::string> paths() const noexcept override;

 private:
  Status check_new(const ListedRepository& repository, std::span<const NamedDirectory> names) const;

  const bool namespacing_;
  const LinkRules links_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ListedRepository>> all_;
};

}  // namespace atl::filesystem
