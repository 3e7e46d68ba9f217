#include "model_encryption.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "atoll/lib/encrypted_file.h"
#include "atoll/lib/encryption_keys.h"
#include "atoll/models/model_files.h"

namespace atl::ctl {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 32;  // more is a loop of links
constexpr mode_t kPermissions = 07777;

struct Entry {
  fs::path name;  ///< below the model's folder
  mode_t mode = 0;
  bool is_folder = false;
  bool is_of_version = false;

  /// What the file is bound to: without the version, which may be copied to a new number.
  std::string name_in_version() const { return name.lexically_relative(*name.begin()).string(); }
};

Status failed(const fs::path& path, const char* what) {
  return internal_error("'", path.string(), "' cannot be ", what, ": ", std::strerror(errno));
}

bool is_version(const fs::path& name) {
  const std::string text = name.string();
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// What is in a folder and below it, folders before what is in them.
Status list_entries(const fs::path& folder, std::vector<Entry>& entries) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat info {};
    if (::stat(at->path().c_str(), &info) != 0) return failed(at->path(), "read");
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
      return invalid_argument("'", at->path().string(), "' is neither a file nor a folder");
    if (at.depth() > kMostDepth)
      return invalid_argument("'", at->path().string(), "' is more than ", kMostDepth,
                              " folders deep, as in a loop of links");
    Entry entry{at->path().lexically_relative(folder), info.st_mode & kPermissions, S_ISDIR(info.st_mode),
                false};
    entry.is_of_version = at.depth() > 0 && is_version(*entry.name.begin());
    entries.push_back(std::move(entry));
  }
  if (error) return invalid_argument("'", folder.string(), "' cannot be read: ", error.message());
  return {};
}

Status check_entries(const fs::path& folder, const std::vector<Entry>& entries) {
  const auto is_encryptable = [](const Entry& entry) { return entry.is_of_version && !entry.is_folder; };
  if (std::ranges::none_of(entries, is_encryptable)) {
    return invalid_argument("'", folder.string(),
                            "' has no folder of a version with a file in it, expected the folder of a model, "
                            "with files such as 1/model.onnx");
  }
  for (const Entry& entry : entries) {
    const fs::path path = folder / entry.name;
    if (!entry.is_folder && is_encrypted_file(path))
      return invalid_argument("'", path.string(), "' is encrypted already");
  }
  return {};
}

Status copy_bytes(int from, int to) {
  std::vector<char> buffer(size_t{1} << 20);
  while (true) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return internal_error("reading fails: ", std::strerror(errno));
    if (count == 0) return {};
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(to, buffer.data() + done, static_cast<size_t>(count - done));
      if (written < 0 && errno != EINTR) return internal_error("writing fails: ", std::strerror(errno));
      done += std::max<ssize_t>(written, 0);
    }
  }
}

/// \param settings  null: the file is copied as it is
Status make_file(const fs::path& from, const fs::path& to, mode_t mode, const EncryptionSettings* settings) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) return failed(from, "read");
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target.valid()) return failed(to, "written");
  const Status status = settings == nullptr ? copy_bytes(source.get(), target.get())
                                            : encrypt_file(source.get(), target.get(), *settings);
  if (!status.ok()) return make_status(status.code(), "'", from.string(), "': ", status.message());
  if (::fchmod(target.get(), mode) != 0 || ::fsync(target.get()) != 0) return failed(to, "written");
  return {};
}

Status sync_folder(const fs::path& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.valid() && ::fsync(folder.get()) == 0 ? Status() : failed(path, "written");
}

/// Everything in the new folder, and on the disk.
Status fill(const fs::path& from, const fs::path& to, const std::vector<Entry>& entries,
            EncryptionSettings settings) {
  for (const Entry& entry : entries) {
    if (!entry.is_folder) {
      const std::string name = entry.name_in_version();
      settings.name = name;
      ATOLL_RETURN_IF_ERROR(make_file(from / entry.name, to / entry.name, entry.mode,
                                      entry.is_of_version ? &settings : nullptr));
    } else if (::mkdir((to / entry.name).c_str(), 0700) != 0) {
      return failed(to / entry.name, "made");
    }
  }
  // Last, as nothing can be made in a folder that may not be written.
  for (const Entry& entry : std::views::reverse(entries)) {
    if (!entry.is_folder) continue;
    ATOLL_RETURN_IF_ERROR(sync_folder(to / entry.name));
    if (::chmod((to / entry.name).c_str(), entry.mode) != 0) return failed(to / entry.name, "written");
  }
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0 || ::chmod(to.c_str(), info.st_mode & kPermissions) != 0)
    return failed(to, "written");
  return sync_folder(to);
}

/// \returns an id. Errors: the file has no such key, or several and none is named.
Result<std::string> choose_key(const ModelEncryption& what, const EncryptionKeys& keys) {
  if (what.key_id.empty() && keys.ids().size() == 1) return keys.ids().front();
  if (keys.find(what.key_id)) return what.key_id;
  std::string ids;
  for (const std::string& id : keys.ids()) ids += cat(ids.empty() ? "" : ", ", id);
  if (what.key_id.empty())
    return invalid_argument("'", what.key_file, "' has several keys; say which one by --key-id: ", ids);
  return invalid_argument("'", what.key_file, "' has no key '", what.key_id, "'; it has ", ids);
}

/// Without what a name may end with: "models/digits/" has the name "digits".
fs::path named(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

Result<EncryptedModel> encrypt_to(const ModelEncryption& what, const fs::path& from, const fs::path& to) {
  Result<EncryptionKeys> keys = EncryptionKeys::read(what.key_file, false);
  if (!keys.ok()) return std::move(keys).status();
  Result<std::string> id = choose_key(what, *keys);
  if (!id.ok()) return std::move(id).status();
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return invalid_argument("'", from.string(), "' is not a folder");
  if (::lstat(to.c_str(), &info) == 0) return invalid_argument("'", to.string(), "' is there already");
  // Listed before anything is made, so that a new folder inside of the old one is no part of it.
  std::vector<Entry> entries;
  ATOLL_RETURN_IF_ERROR(list_entries(from, entries));
  ATOLL_RETURN_IF_ERROR(check_entries(from, entries));

  // Repositories leave out names with a dot.
  std::string scratch = (to.parent_path() / cat(".", to.filename().string(), ".XXXXXX")).string();
  if (::mkdtemp(scratch.data()) == nullptr) return failed(scratch, "made");
  Status status = fill(from, scratch, entries, {"", *id, *keys->find(*id)});
  if (status.ok() && ::rename(scratch.c_str(), to.c_str()) != 0) status = failed(to, "made");
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    return status;
  }
  ATOLL_RETURN_IF_ERROR(sync_folder(to.parent_path()));
  const auto files = std::ranges::count_if(
      entries, [](const Entry& entry) { return entry.is_of_version && !entry.is_folder; });
  return EncryptedModel{to.string(), *id, static_cast<size_t>(files)};
}

}  // namespace

Result<EncryptedModel> encrypt_model(const ModelEncryption& what) noexcept {
  try {
    const fs::path from = named(what.folder);
    const fs::path to = what.out.empty() ? fs::path(from.string() + ".encrypted") : named(what.out);
    return encrypt_to(what, from, to);
  } catch (const fs::filesystem_error& error) {
    return internal_error(error.what());
  }
}

}  // namespace atl::ctl
