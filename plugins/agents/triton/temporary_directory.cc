#include "agents/triton/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace atl::triton {

Result<TemporaryDirectory> TemporaryDirectory::create(const std::string& below) {
  std::string path = below;
  if (path.empty()) {
    std::error_code failed;
    path = std::filesystem::temp_directory_path(failed);
    if (failed) return unavailable("the system's temporary directory: ", failed.message());
  }
  path += "/atoll-agent-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return unavailable(path, ": ", std::system_category().message(errno));
  }
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  if (this != &other) {
    (void)remove().ok();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

Status TemporaryDirectory::remove() noexcept {
  if (path_.empty()) return {};
  const std::string path = std::exchange(path_, {});
  std::error_code failed;
  std::filesystem::remove_all(path, failed);
  return failed ? unavailable(path, ": ", failed.message()) : Status();
}

}  // namespace atl::triton
