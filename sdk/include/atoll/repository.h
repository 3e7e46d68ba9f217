/// Model repositories: what is there, where, and when it changed. Service "atoll.repository/1".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/status.h"

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

/// [worker] May touch the disk; never from a request thread.
class Repository {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.repository/1";

  /// Every model directory of every repository, ordered by name, then repository. The same name in two
  /// repositories appears twice. Hidden directories are left out. Errors: UNAVAILABLE a repository can not be
  /// read: "<path>: <reason>".
  virtual Result<std::vector<RepositoryEntry>> list() noexcept = 0;
  /// Reads one model directory.
  /// Errors: NOT_FOUND no such model; FAILED_PRECONDITION the name is in two repositories ("model appears in
  /// two or more repositories"); INVALID_ARGUMENT a file that must not be followed or read (link out of the
  /// repository, a device, a configuration over 16 MiB); UNAVAILABLE the system's reason.
  virtual Result<RepositoryModel> open(std::string_view name) noexcept = 0;

 protected:
  ~Repository() = default;
};

}  // namespace atl
