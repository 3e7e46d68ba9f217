/// Model repositories: what is there, where, and when it changed. Service "atoll.repository/1", minor 2.
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
  std::string name;        ///< of the model: the directory's name
  std::string repository;  ///< the repository's path as configured
  std::string path;        ///< of the model directory, local
};

/// A version directory.
struct RepositoryVersion {
  int64_t version = 0;
  std::string path;
};

/// What is in one model directory.
struct RepositoryModel {
  RepositoryEntry entry;
  std::vector<RepositoryVersion> versions;  ///< ascending; canonical positive numbers only
  std::vector<std::string> ignored;  ///< warnings: "version directory '01' of model 'm' is ignored: ..."
  std::string config_path;           ///< of config.pbtxt; empty: there is none
  std::string config_text;           ///< its bytes
};

/// One entry directly below a model directory, boiled down to a number.
struct RepositoryStamp {
  enum class Part : uint32_t {
    kVersion = 0,        ///< a version directory
    kConfiguration = 1,  ///< what the configuration is read from
    kOther = 2           ///< labels, warm-up data, libraries, ...
  };
  std::string name;
  Part part = Part::kOther;
  int64_t version = 0;  ///< of a version directory
  /// Of the entry and all that is below it. Equal stamps: nothing was added, removed, replaced or written
  /// since. Of an entry that changed a moment ago it is unlike any other, because the next change could not
  /// be told from that one.
  uint64_t value = 0;
  friend bool operator==(const RepositoryStamp&, const RepositoryStamp&) = default;
};

/// A file of a model directory that a client brought.
struct RepositoryFile {
  std::string path;  ///< relative to the model directory
  std::string content;
};

/// A model directory made of files that a client brought.
struct PrivateModel {
  RepositoryModel model;  ///< without configuration
  /// The directory is removed with its last holder. That is code of the repository's: a holder keeps the
  /// Service<Repository> that gave it for as long.
  std::shared_ptr<const void> directory;
};

/// [worker] May touch the disk; never from a request thread.
class Repository {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository/1";

  /// Every model directory of every repository, ordered by name, then repository. The same name in two
  /// repositories appears twice. Hidden directories are left out. Errors: UNAVAILABLE a repository cannot be
  /// read: "<path>: <reason>".
  virtual Result<std::vector<RepositoryEntry>> list() noexcept = 0;
  /// Reads one model directory.
  /// Errors: NOT_FOUND no such model; FAILED_PRECONDITION the name is in two repositories ("model appears in
  /// two or more repositories"); INVALID_ARGUMENT a file that must not be followed or read (link out of the
  /// repository, a device, a configuration over 16 MiB); UNAVAILABLE the system's reason.
  virtual Result<RepositoryModel> open(std::string_view name) noexcept = 0;

  // --- since minor 1 ---
  /// What is directly below a model directory, ordered by name, to be compared with an earlier call's result.
  /// Errors: as open().
  virtual Result<std::vector<RepositoryStamp>> stamps(std::string_view name) noexcept {
    return unimplemented("model '", name, "': this repository does not tell changes");
  }
  /// Writes files into a private directory and reads that as open() would; repositories are not looked at.
  /// Errors: INVALID_ARGUMENT a name or path that cannot be meant ("Invalid file parameter 'file:<path>'
  /// with normalized path '<path>' must stay within model directory."); UNAVAILABLE the system's reason.
  virtual Result<PrivateModel> open_files(std::string_view name,
                                          const std::vector<RepositoryFile>& /*files*/) noexcept {
    return unimplemented("model '", name, "': this repository takes no files from clients");
  }

  // --- since minor 2 ---
  /// Reads a model from a directory that is in no repository, as open() would: links may not lead out of it either.
  /// \param path  absolute; RepositoryEntry::path of the result
  /// Errors: as open(); NOT_FOUND there is no such directory.
  virtual Result<RepositoryModel> open_at(std::string_view name, const std::string& /*path*/) noexcept {
    return unimplemented("model '", name, "': this repository reads no other directories");
  }

  // --- since minor 3 ---
  /// [any], without touching the disk. False: a repository has never been there without which the server is to be neither
  /// live nor ready, though it serves the models of the others.
  virtual bool is_complete() const noexcept { return true; }

 protected:
  ~Repository() = default;
};

}  // namespace atl
