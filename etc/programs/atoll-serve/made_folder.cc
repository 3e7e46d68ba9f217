#include "made_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "atoll/core/text.h"

namespace atl::serve {

namespace fs = std::filesystem;

Result<MadeFolder> MadeFolder::make() {
  auto folder = ScratchFolder::make("atoll-serve");
  if (!folder.ok()) return std::move(folder).status();
  return MadeFolder(std::move(folder).value());
}

Status MadeFolder::write(const fs::path& name, std::string_view bytes) const {
  std::error_code error;
  const fs::path path = this->path() / name;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return unavailable(path.string(), ": cannot be written: ", std::strerror(errno));
  return {};
}

Result<fs::path> MadeFolder::make_repository(std::span<const LooseModel> models,
                                             std::span<const FolderLink> folders) const {
  const fs::path repository = path() / "models";
  std::error_code error;
  fs::create_directories(repository, error);
  for (const FolderLink& folder : folders) {
    if (!error) fs::create_symlink(folder.target, repository / folder.name, error);
  }
  for (const LooseModel& model : models) {
    ATOLL_RETURN_IF_ERROR(write(fs::path("models") / model.name / "config.pbtxt", configuration_of(model)));
    const fs::path version = repository / model.name / "1";
    fs::create_directories(version, error);
    for (const FolderLink& file : model.files) {
      if (!error) fs::create_symlink(file.target, version / file.name, error);
    }
  }
  if (error) return unavailable(repository.string(), ": cannot be written: ", error.message());
  return repository;
}

std::string configuration_of(const LooseModel& model) {
  const std::string file =
      model.kind->names_file ? cat("default_model_filename: \"", model.kind->file, "\"\n") : std::string();
  return cat("backend: \"", model.kind->backend, "\"\n", file);
}

}  // namespace atl::serve
