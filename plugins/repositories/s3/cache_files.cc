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

constexpr std::string_view kLockEnd = ".lock";
constexpr mode_t kFileMode = 0644;

int64_t modified_ns(const struct stat& info) noexcept {
  return info.st_mtim.tv_sec * kNsPerSecond + info.st_mtim.tv_nsec;
}

/// "<object>.<size>"
uint64_t promised_bytes(std::string_view name) noexcept {
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
  const auto add = [&](CacheEntry::Kind kind, const std::string& path) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;  // somebody removed it
    CacheEntry entry{kind, path, static_cast<uint64_t>(info.st_size), modified_ns(info), info.st_nlink};
    if (kind == CacheEntry::Kind::kPart) entry.bytes = promised_bytes(path);
    if (kind == CacheEntry::Kind::kModel) {
      if (!path.ends_with(kLockEnd)) return;
      entry.path.erase(path.size() - kLockEnd.size());
      entry.bytes = 0;
    }
    entries.push_back(std::move(entry));
  };
  const auto add_all = [&](CacheEntry::Kind kind, const std::string& folder) {
    std::error_code failure;
    fs::directory_iterator entry(folder, failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
      add(kind, entry->path().string());
    }
    return failure;
  };
  std::error_code failure = add_all(CacheEntry::Kind::kObject, root + "/objects");
  if (!failure) failure = add_all(CacheEntry::Kind::kModel, root + "/models");
  fs::directory_iterator place(root + "/parts", failure);
  for (; !failure && place != fs::directory_iterator(); place.increment(failure)) {
    failure = add_all(CacheEntry::Kind::kPart, place->path().string());
    if (failure) break;
  }
  if (failure) return unavailable(root, ": ", failure.message());
  return entries;
}

bool remove_entry(const CacheEntry& entry) {
  namespace fs = std::filesystem;
  if (entry.kind == CacheEntry::Kind::kObject) return ::unlink(entry.path.c_str()) == 0;
  std::string lock_path = entry.path + std::string(kLockEnd);
  if (entry.kind == CacheEntry::Kind::kPart) {
    const fs::path place = fs::path(entry.path).parent_path();
    lock_path =
        cat(place.parent_path().parent_path().string(), "/staging/", place.filename().string(), kLockEnd);
  }
  const Result<FileDescriptor> lock = lock_file(lock_path, LOCK_EX | LOCK_NB);
  if (!lock.ok() || !lock.value().valid()) return false;
  if (entry.kind == CacheEntry::Kind::kPart) return ::unlink(entry.path.c_str()) == 0;
  std::error_code failure;
  fs::remove_all(entry.path, failure);
  return ::unlink(lock_path.c_str()) == 0 && !failure;
}

}  // namespace atl::s3
