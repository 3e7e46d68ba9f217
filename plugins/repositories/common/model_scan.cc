#include "repositories/common/model_scan.h"

#include <fcntl.h>

#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "repositories/common/directory_reader.h"

namespace atl::filesystem {

namespace {

class Scan {
 public:
  Scan(const Containment& repository, uint64_t files_max, const OnEntry& on_entry)
      : repository_(repository), files_max_(files_max), on_entry_(on_entry) {}

  Status run(const Found& model, const std::string& display_path) {
    ATOLL_RETURN_IF_ERROR(enter(model, display_path));
    while (!open_.empty()) {
      DirectoryReader::Entry entry;
      auto more = open_.back().reader.next(&entry);
      if (!more.ok()) return std::move(more).status();
      if (!*more) {
        open_.pop_back();
        continue;
      }
      ATOLL_RETURN_IF_ERROR(check(entry));
    }
    return {};
  }

 private:
  struct Open {
    DirectoryReader reader;
    std::string path;
  };

  Status check(const DirectoryReader::Entry& entry) {
    Open& directory = open_.back();
    if (++seen_ > files_max_) {
      return invalid_argument(open_.front().path, ": holds more than ", files_max_,
                              " files; the option 'files_max' sets the limit");
    }
    if (entry.type == DT_REG && !on_entry_) return {};
    std::string path = cat(directory.path, "/", entry.name);
    if (on_entry_) {
      struct stat info;
      if (::fstatat(directory.reader.fd(), std::string(entry.name).c_str(), &info, AT_SYMLINK_NOFOLLOW) !=
          0) {
        if (errno == ENOENT) return {};
        return system_failure(path, errno);
      }
      report(path, info);
      if (entry.type == DT_REG) return {};
    }
    if (entry.type != DT_DIR && entry.type != DT_LNK && entry.type != DT_UNKNOWN) {
      return invalid_argument(path, ": is ", file_kind(DTTOIF(entry.type)),
                              ", expected a regular file or a directory");
    }
    auto found = repository_.find(directory.reader.fd(), std::string(entry.name), path);
    if (!found.ok()) {
      // Nothing can be read through what vanished meanwhile, or through a link to nothing (editors lock
      // files with such links).
      if (found.status().code() == Code::kNotFound) return {};
      return std::move(found).status();
    }
    if (is_special(found->mode)) {
      return invalid_argument(path, ": is ", file_kind(found->mode),
                              ", expected a regular file or a directory");
    }
    if (entry.type == DT_LNK && on_entry_) {
      struct stat info;
      if (::fstat(found->path_fd.get(), &info) == 0) report(path, info);
    }
    bool outside_is_allowed = entry.type == DT_LNK && repository_.follow_links();
    if (!S_ISDIR(found->mode) || outside_is_allowed) return {};
    return enter(*found, path);
  }

  void report(const std::string& path, const struct stat& info) const {
    on_entry_(std::string_view(path).substr(open_.front().path.size() + 1), info);
  }

  Status enter(const Found& directory, const std::string& path) {
    if (!visited_.emplace(directory.device, directory.inode).second) return {};
    if (open_.size() == kScanDepthMax) {
      return invalid_argument(path, ": is nested deeper than ", kScanDepthMax, " directories");
    }
    auto reader = DirectoryReader::open(directory.path_fd.get(), path);
    if (!reader.ok()) return std::move(reader).status();
    open_.push_back({std::move(reader).value(), path});
    return {};
  }

  const Containment& repository_;
  const uint64_t files_max_;
  const OnEntry& on_entry_;
  uint64_t seen_ = 0;
  std::vector<Open> open_;
  std::set<std::pair<dev_t, ino_t>> visited_;
};

}  // namespace

Status scan_model_directory(const Containment& repository, const Found& model,
                            const std::string& display_path, uint64_t files_max, const OnEntry& on_entry) {
  return Scan(repository, files_max, on_entry).run(model, display_path);
}

}  // namespace atl::filesystem
