/// A disk that is full, or broken, from a certain write of SQLite on.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace atl::pools {

/// While it lives, all files that SQLite opens are on it. One at a time. The real files are behind it, so what was
/// written before the failure is there.
class FailingDisk {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  FailingDisk() {
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.zName = "failing";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = &open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;
  ~FailingDisk() { sqlite3_vfs_unregister(&vfs_); }

  /// From the write, or sync, after `successes` further ones on they fail with this code.
  void fail_after(uint64_t successes, int code = SQLITE_FULL) {
    left_ = successes;
    code_ = code;
  }
  void repair() { left_ = kNever; }
  /// Writes and syncs that succeeded.
  uint64_t writes() const { return writes_; }

 private:
  struct File {
    sqlite3_file base;
    FailingDisk* disk;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& file_of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

  int attempt() {
    if (left_ == 0) return code_;
    if (left_ != kNever) --left_;
    ++writes_;
    return SQLITE_OK;
  }

  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* opened, int flags, int* out_flags) {
    auto& disk = *static_cast<FailingDisk*>(vfs->pAppData);
    auto& file = *new (opened) File{};
    file.disk = &disk;
    const int code = disk.real_->xOpen(disk.real_, name, file.real(), flags, out_flags);
    if (code == SQLITE_OK) file.base.pMethods = methods();
    return code;
  }
  template <auto kMethod, class... Arguments>
  static int pass(sqlite3_file* file, Arguments... arguments) {
    sqlite3_file* real = file_of(file).real();
    return (real->pMethods->*kMethod)(real, arguments...);
  }
  template <auto kMethod, class... Arguments>
  static int pass_if_works(sqlite3_file* file, Arguments... arguments) {
    const int code = file_of(file).disk->attempt();
    return code == SQLITE_OK ? pass<kMethod>(file, arguments...) : code;
  }
  static const sqlite3_io_methods* methods() {
    using M = sqlite3_io_methods;
    static const M kMethods = {
        1,  // no shared memory and no mapped files: the store has neither
        [](sqlite3_file* file) { return pass<&M::xClose>(file); },
        [](sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
          return pass<&M::xRead>(file, to, size, at);
        },
        [](sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
          return pass_if_works<&M::xWrite>(file, from, size, at);
        },
        [](sqlite3_file* file, sqlite3_int64 size) { return pass_if_works<&M::xTruncate>(file, size); },
        // Not passed on: no process dies here, and the tests write thousands of times.
        [](sqlite3_file* file, int) { return file_of(file).disk->attempt(); },
        [](sqlite3_file* file, sqlite3_int64* size) { return pass<&M::xFileSize>(file, size); },
        [](sqlite3_file* file, int lock) { return pass<&M::xLock>(file, lock); },
        [](sqlite3_file* file, int lock) { return pass<&M::xUnlock>(file, lock); },
        [](sqlite3_file* file, int* locked) { return pass<&M::xCheckReservedLock>(file, locked); },
        [](sqlite3_file* file, int operation, void* argument) {
          return pass<&M::xFileControl>(file, operation, argument);
        },
        [](sqlite3_file* file) { return pass<&M::xSectorSize>(file); },
        [](sqlite3_file* file) { return pass<&M::xDeviceCharacteristics>(file); }, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr};
    return &kMethods;
  }

  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs vfs_ = {};
  uint64_t left_ = kNever, writes_ = 0;
  int code_ = SQLITE_FULL;
};

}  // namespace atl::pools
