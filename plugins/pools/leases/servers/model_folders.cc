#include "pools/leases/servers/model_folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace atl::pools {
namespace {

namespace fs = std::filesystem;

/// \param directory  of the option; it may have links of its own
bool is_in(const std::string& directory, const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(directory, error);
  return !error && std::ranges::mismatch(real, path).in1 == real.end();
}

}  // namespace

Status ModelFolders::make(const std::string& repository) const {
  std::error_code error;
  fs::create_directories(repository, error);
  return error ? unavailable("its folder of models cannot be made: ", error.message()) : Status();
}

void ModelFolders::remove(const std::string& repository) const noexcept {
  std::error_code ignored;
  if (!repository.empty()) fs::remove_all(repository, ignored);
}

Result<std::string> ModelFolders::find(const LeaseModel& model) const {
  const fs::path asked = fs::path(model.source) / model.name;
  std::error_code error;
  const fs::path real = fs::canonical(asked, error);
  if (error || !fs::is_directory(real, error))
    return make_status(Code::kFailedPrecondition, "source '", model.source, "' has no model '", model.name,
                       "'");
  const auto holds = [&](const std::string& source) { return is_in(source, real); };
  if (!sources_.empty() && std::ranges::none_of(sources_, holds))
    return make_status(Code::kFailedPrecondition, asked.native(),
                       " is a link that leads out of the server's option 'sources'");
  return real.native();
}

Status ModelFolders::put(const std::string& repository, const LeaseModel& model) const {
  // The link goes to what was checked: links on the way may change.
  Result<std::string> real = find(model);
  if (!real.ok()) return real.status().clone();
  std::error_code error;
  const fs::path link = fs::path(repository) / model.name, draft = link.native() + ".new";
  fs::remove(draft, error);
  fs::create_directory_symlink(*real, draft, error);
  if (!error) fs::rename(draft, link, error);
  return error ? unavailable("its files cannot be put where the instance reads them: ", error.message())
               : Status();
}

void ModelFolders::take_off(const std::string& repository, std::string_view model) const noexcept {
  std::error_code ignored;
  fs::remove(fs::path(repository) / model, ignored);
}

}  // namespace atl::pools
