/// Model repositories: which models there are, where they lie, and when they changed. Service
/// "atoll.repository/1", minor 4, provided by repositories/filesystem and repositories/s3.
///
/// The layout is Triton's: <repository>/<model>/config.pbtxt and <repository>/<model>/<version>/<files>. The
/// catalog and the control plugins are the users:
///
///     Result<std::vector<RepositoryEntry>> all = repository->list();
///     Result<RepositoryModel> model = repository->open("resnet");
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// One model directory of a repository.
struct RepositoryEntry {
  /// The model's name: mostly the directory's, see RepositoryPaths::add(); with the option `namespacing` an
  /// identifier (atoll/models/model_identifier.h).
  std::string name;
  /// The repository's path as configured; empty: the directory is in none.
  std::string repository;
  /// Of the model directory, on this machine.
  std::string path;
};

/// A version directory of a model.
struct RepositoryVersion {
  int64_t version = 0;
  std::string path;
};

/// What is in one model directory at the moment of the call.
struct RepositoryModel {
  RepositoryEntry entry;
  /// Ascending. A version is a directory whose name is a positive decimal number without leading zeros that
  /// fits into 63 bits.
  std::vector<RepositoryVersion> versions;
  /// Lines for the log: "version directory '01' of model 'm' is ignored: ..."
  std::vector<std::string> ignored;
  /// Of config.pbtxt, or of the file that the options prefer to it; empty: there is none.
  std::string config_path;
  /// Its bytes, as they are.
  std::string config_text;
};

/// One entry directly below a model directory, with its state as a number. Two lists of stamps, of two
/// moments, say which entries changed between them.
struct RepositoryStamp {
  /// What the entry is for.
  enum class Part : uint32_t {
    kVersion = 0,        ///< a version directory
    kConfiguration = 1,  ///< what the configuration is read from
    kOther = 2           ///< labels, warm-up data, libraries, ...
  };
  std::string name;
  Part part = Part::kOther;
  int64_t version = 0;  ///< of a version directory
  /// The state of the entry and of all that is below it. Equal values mean that nothing was added, removed,
  /// replaced or written between the two calls. The value of an entry that changed a moment ago is unlike any
  /// other, because the next change could not be told from that one. Values have no order.
  uint64_t value = 0;
  friend bool operator==(const RepositoryStamp&, const RepositoryStamp&) = default;
};

/// A file of a model directory that a client brought with a load call.
struct RepositoryFile {
  std::string path;  ///< relative to the model directory
  std::string content;
};

/// A model directory made of files that a client brought.
struct PrivateModel {
  /// As open() would read it, but without a configuration.
  RepositoryModel model;
  /// The directory is removed with its last holder. That runs code of the repository, so a holder keeps the
  /// Service<Repository> that gave it for as long.
  std::shared_ptr<const void> directory;
};

/// All repositories of the server. Functions may touch the disk and block: never call them from a request's
/// thread. Several may run at once. [worker]
class Repository {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository/1";

  /// Every model directory of every repository, ordered by name, then repository. A name in two repositories
  /// appears twice. Hidden directories (with a leading '.') are left out.
  /// Errors: UNAVAILABLE a repository cannot be read: "<path>: <reason>".
  virtual Result<std::vector<RepositoryEntry>> list() noexcept = 0;
  /// Reads one model directory.
  /// Errors: NOT_FOUND no such model; FAILED_PRECONDITION the name is in two repositories ("model appears in
  /// two or more repositories"); INVALID_ARGUMENT the directory has a file that must not be followed or read
  /// (a link out of the repository, a device, a configuration over 16 MiB); UNAVAILABLE the system's reason.
  virtual Result<RepositoryModel> open(std::string_view name) noexcept = 0;

  // --- since minor 1 ---
  /// What is directly below a model directory, ordered by name, to be compared with an earlier call's result.
  /// Contents of files are not read.
  /// Errors: as open().
  virtual Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept {
    return unimplemented("model '", name, "': this repository does not tell changes");
  }
  /// Writes the files into a private directory and reads that as open() would; the repositories are not
  /// looked at.
  /// Errors: INVALID_ARGUMENT a name or path that is none within the directory ("Invalid file parameter
  /// 'file:<path>' with normalized path '<path>' must stay within model directory."); UNAVAILABLE the
  /// system's reason.
  virtual Result<PrivateModel> open_files(std::string_view name,
                                          const std::vector<RepositoryFile>& /*files*/) noexcept {
    return unimplemented("model '", name, "': this repository takes no files from clients");
  }

  // --- since minor 2 ---
  /// Reads a model from a directory that is in no repository, such as the one that a repository agent made.
  /// As open(): links may not lead out of the directory.
  /// \param path  absolute; it becomes RepositoryEntry::path of the result
  /// Errors: as open(); NOT_FOUND there is no such directory.
  virtual Result<RepositoryModel> open_at(std::string_view name, const std::string& /*path*/) noexcept {
    return unimplemented("model '", name, "': this repository reads no other directories");
  }

  // --- since minor 3 ---
  /// False: a repository that the server's health depends on has never been there since the start. Then the
  /// server is neither live nor ready, though it serves the models of the others. Does not touch the disk.
  /// [any]
  virtual bool is_complete() const noexcept { return true; }

  // --- since minor 4 ---
  /// Keeps the files that open() gave where they are. A repository that makes copies may remove those that
  /// nobody holds; the newest copy of each model stays until the next open() of it, so that it can be held.
  /// \returns what is held, until its last holder lets go; that runs code of the repository, so a holder
  /// keeps the Service<Repository> for as long. Null: the files are nobody's to remove
  /// Errors: UNAVAILABLE they are gone already.
  virtual Result<std::shared_ptr<const void>> hold(const RepositoryModel& /*model*/) noexcept {
    return std::shared_ptr<const void>();
  }
  /// A sentence on the repository of a model for whoever reads the index: "the store is away, and what is
  /// known of it is 3600 s old: ...". Empty: there is nothing to say. Does not touch the disk. [any]
  virtual std::string remark(std::string_view /*name*/) const noexcept { return {}; }

 protected:
  ~Repository() = default;
};

}  // namespace atl
