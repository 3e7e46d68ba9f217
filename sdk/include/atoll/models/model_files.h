/// Files of a model version that are encrypted, as bytes in memory instead of as a path. Service
/// "atoll.model_files/1", provided by security/model_keys; a server may have none.
///
/// A backend that can load a model from memory takes part so:
///
///     ATOLL_PLUGIN(Mine, {..., .provides = {provide<Backend>(), provide<EncryptedModels>()},
///                         .needs = {optional<ModelFiles>()}});
///     ...
///     Followed<ModelFiles> model_files_{host_};  // open() in start(), close() in stop()
///     ...
///     if (is_encrypted_file(path)) {
///       const auto files = model_files_.hold();
///       if (!files) return no_model_files(path);
///       Result<std::unique_ptr<ModelFileBytes>> file = files->read(path, source.version_directory);
///       if (!file.ok()) return std::move(file).status();
///       ... load from (*file)->bytes() ...
///     }                                           // the plain bytes are gone
///
/// A version with an encrypted file is never given to a backend that does not provide
/// EncryptedModels: models/catalog refuses it and names the file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl {

/// What an encrypted file begins with. No format of models does: the first byte is not ASCII, and
/// the line end shows files that were copied as text.
inline constexpr std::string_view kEncryptedFileMagic =
    "\x89"
    "ATLENC\n";

/// Whether a file begins with kEncryptedFileMagic. False: it does not, or it is no plain file, or
/// cannot be read; who opens it next says why. Reads 8 bytes. [worker]
inline bool is_encrypted_file(const std::string& path) noexcept {
  // Opening a FIFO to read would wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return false;
  char head[kEncryptedFileMagic.size()];
  ssize_t count = 0;
  do {
    // Fails on what has no offsets, such as a FIFO, whose bytes stay where they are.
    count = ::pread(file.get(), head, sizeof head, 0);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof head) &&
         std::string_view(head, sizeof head) == kEncryptedFileMagic;
}

/// The path of an encrypted file in a folder or below it; empty: none was found. Links are followed.
/// Only the first 256 files are looked at: folders are encrypted as a whole, and one with very many
/// files, such as a Python environment, would take long. [worker]
inline std::string find_encrypted_file(const std::string& folder) noexcept {
  namespace fs = std::filesystem;
  constexpr int kMostFiles = 256;
  std::error_code failure;
  fs::recursive_directory_iterator entry(
      folder, fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied,
      failure);
  int looked_at = 0;
  // A loop of links ends as a failure, when the system counts too many of them.
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    std::error_code no_file;
    if (!entry->is_regular_file(no_file)) continue;
    if (is_encrypted_file(entry->path())) return entry->path();
    if (++looked_at == kMostFiles) break;
  }
  return {};
}

/// The failure of a backend that met an encrypted file while no plugin provides ModelFiles:
/// FAILED_PRECONDITION, with the file and the plugin to add.
inline Status no_model_files(const std::string& path) {
  return make_status(
      Code::kFailedPrecondition, "model file '", path,
      "' is encrypted, and the server has no plugin with the keys of models: add security/model_keys, "
      "or another that provides atoll.model_files/1, to the manifest");
}

/// The plain bytes of one file. They lie in memory that is written neither to swap space nor into
/// core dumps, and are overwritten when this object is destroyed. Destroy it as soon as the model is
/// loaded, and before the service is let go. Reading is thread safe.
class ModelFileBytes {
 public:
  virtual ~ModelFileBytes() = default;
  /// Valid as long as this object; its address is a multiple of the size of a page. May be empty.
  virtual std::span<const std::byte> bytes() const noexcept = 0;
};

/// Has the keys. Service "atoll.model_files/1".
class ModelFiles {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_files/1";

  /// Reads and decrypts a whole file. Every byte was authenticated when this returns; of a file that
  /// fails, nothing is given. Takes as long as reading the file, and about 0.3 s of CPU for a
  /// gigabyte. [worker]
  /// \param version_directory  the folder of the version, which is a beginning of `path`. The rest of
  /// the path is the file's name, which is authenticated: a file that has been encrypted under another
  /// name is refused
  /// Errors: FAILED_PRECONDITION the file's key is not known here, or another key of the same id
  /// made it; DATA_LOSS the file is not as it was written: it is cut, it has another name, or bytes or
  /// chunks of it were changed, moved or added; INVALID_ARGUMENT it is not encrypted, is of another
  /// format, or is not below the folder; NOT_FOUND there is none; RESOURCE_EXHAUSTED there is no memory
  /// for it, or none that may be locked. All name the path.
  virtual Result<std::unique_ptr<ModelFileBytes>> read(const std::string& path,
                                                       const std::string& version_directory) noexcept = 0;

 protected:
  ~ModelFiles() = default;
};

/// Says that a backend runs versions with encrypted files. Service "atoll.encrypted_models/1",
/// provided by the same plugin as its "atoll.backend/1"; without functions, as providing it says it
/// all. models/catalog asks the registry whether the backend's instance provides it.
class EncryptedModels {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.encrypted_models/1";

 protected:
  ~EncryptedModels() = default;
};

}  // namespace atl
