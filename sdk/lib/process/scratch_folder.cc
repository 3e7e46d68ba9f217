#include "atoll/lib/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace atl {

Result<ScratchFolder> ScratchFolder::make(std::string_view name, const std::string& below) {
  std::error_code failed;
  const std::string base = below.empty() ? std::filesystem::temp_directory_path(failed).string() : below;
  if (failed) return unavailable("the system's temporary directory: ", failed.message());
  std::string path = cat(base, "/", name, "-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return unavailable(path, ": ", std::strerror(errno));
  return ScratchFolder(std::move(path));
}

Status ScratchFolder::remove() noexcept {
  const std::string path = std::exchange(path_, {});
  std::error_code failed;
  if (!path.empty()) std::filesystem::remove_all(path, failed);
  return failed ? unavailable(path, ": ", failed.message()) : Status();
}

}  // namespace atl
