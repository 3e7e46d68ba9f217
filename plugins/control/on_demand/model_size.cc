#include "control/on_demand/model_size.h"

#include <filesystem>
#include <system_error>

namespace atl::control {
namespace {

constexpr size_t kEntriesMax = 10'000;

}  // namespace

uint64_t file_bytes(Repository& repository, const std::string& model) noexcept {
  Result<RepositoryModel> opened = repository.open(model);
  if (!opened.ok()) return 0;
  std::error_code error;
  uint64_t bytes = 0;
  size_t entries = 0;
  std::filesystem::recursive_directory_iterator entry(opened->entry.path, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (++entries > kEntriesMax) break;
    std::error_code skipped;
    if (entry->symlink_status(skipped).type() != std::filesystem::file_type::regular) continue;
    const uint64_t size = entry->file_size(skipped);
    if (!skipped) bytes += size;
  }
  return bytes;
}

}  // namespace atl::control
