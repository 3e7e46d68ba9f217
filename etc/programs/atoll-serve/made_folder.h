/// What is made for models that have no repository.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/lib/scratch_folder.h"
#include "discovery.h"

namespace atl::serve {

/// A new folder that only this user may enter, gone with this object.
class MadeFolder {
 public:
  /// Errors: UNAVAILABLE the system refuses.
  static Result<MadeFolder> make();

  std::filesystem::path path() const { return folder_.path(); }
  /// The folder stays when this object goes.
  void keep() noexcept { folder_.keep(); }

  /// A file in it, with its folders. Errors: UNAVAILABLE it cannot be written.
  Status write(const std::filesystem::path& name, std::string_view bytes) const;
  /// A repository of links in it: a folder for each loose model, and links to `folders`. \returns its path. Errors:
  /// UNAVAILABLE it cannot be written.
  Result<std::filesystem::path> make_repository(std::span<const LooseModel> models,
                                                std::span<const FolderLink> folders) const;

 private:
  explicit MadeFolder(ScratchFolder folder) noexcept : folder_(std::move(folder)) {}
  ScratchFolder folder_;
};

/// What a loose model's configuration says; the backend completes the rest.
std::string configuration_of(const LooseModel& model);

}  // namespace atl::serve
