#include "repositories/s3/cache_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

constexpr std::string_view kPartEnd = ".part";
constexpr std::string_view kLockEnd = ".lock";
constexpr mode_t kFileMode = 0644;

int64_t modified_ns(const struct stat& info) noexcept {
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

/// "<object>.<size>.part"
uint64_t promised_bytes(std::string_view name) noexcept {
  name.remove_suffix(kPartEnd.size());
  const std::string_view digits = name.substr(name.rfind('.') + 1);
  uint64_t bytes = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  return bytes;
}

}  // namespace

Status disk_failure(const std::string& path) { return unavailable(path, ": ", std::strerror(errno)); }

Status make_folders(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  return failure ? unavailable(path, ": ", failure.message()) : Status();
}

Result<FileDescriptor> lock_file(const std::string& path, int operation) {
  while (true) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!file.valid()) return disk_failure(path);
    int locked = -1;
    do locked = ::flock(file.get(), operation);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) return FileDescriptor();
    if (locked != 0) return disk_failure(path);
    struct stat held = {}, named = {};
    const bool is_same = ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (is_same) return file;
  }
}

Result<std::vector<CacheEntry>> list_cache(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<CacheEntry> entries;
  std::error_code failure;
  for (const char* folder : {"objects", "models"}) {
    fs::directory_iterator entry(cat(root, "/", folder), failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
      const std::string path = entry->path().string();
      struct stat info = {};
      if (::lstat(path.c_str(), &info) != 0) continue;  // somebody removed it
      const bool is_object_folder = folder == std::string_view("objects");
      if (is_object_folder && path.ends_with(kPartEnd)) {
        entries.push_back({CacheEntry::Kind::kPart, path, promised_bytes(path), modified_ns(info), 1});
      } else if (is_object_folder) {
        entries.push_back({CacheEntry::Kind::kObject, path, static_cast<uint64_t>(info.st_size),
                           modified_ns(info), info.st_nlink});
      } else if (path.ends_with(kLockEnd)) {
        entries.push_back({CacheEntry::Kind::kModel, path.substr(0, path.size() - kLockEnd.size()), 0,
                           modified_ns(info), 0});
      }
    }
    if (failure) return unavailable(root, "/", folder, ": ", failure.message());
  }
  return entries;
}

bool remove_entry(const CacheEntry& entry) {
  std::error_code failure;
  if (entry.kind == CacheEntry::Kind::kObject) return ::unlink(entry.path.c_str()) == 0;
  const std::string lock_path =
      entry.kind == CacheEntry::Kind::kPart ? entry.path : cat(entry.path, kLockEnd);
  const Result<FileDescriptor> lock = lock_file(lock_path, LOCK_EX | LOCK_NB);
  if (!lock.ok() || !lock.value().valid()) return false;
  if (entry.kind == CacheEntry::Kind::kModel) std::filesystem::remove_all(entry.path, failure);
  return ::unlink(lock_path.c_str()) == 0 && !failure;
}

}  // namespace atl::s3
