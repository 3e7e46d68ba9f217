/// The directories that servers read their models from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "pools/leases/book/definitions.h"

namespace atl::pools {

/// Each server has one with a link for each of its models, to where the model's files are. Functions of different servers may
/// run at the same time. [any]
class ModelFolders {
 public:
  /// \param directory  of all of them; it is there \param sources  that models may come from; empty: any
  ModelFolders(std::string directory, std::vector<std::string> sources)
      : directory_(std::move(directory)), sources_(std::move(sources)) {}

  const std::string& directory() const noexcept { return directory_; }
  /// \param repository  that of a server, in the directory Errors, as clients get them: UNAVAILABLE says why.
  Status make(const std::string& repository) const;
  void remove(const std::string& repository) const noexcept;
  /// Where a model's files are. Errors: FAILED_PRECONDITION the source has no such model, or a link leads out of the sources.
  Result<std::string> find(const LeaseModel& model) const;
  /// The link of a model, in place of another one. Errors: those of find(); UNAVAILABLE says why.
  Status put(const std::string& repository, const LeaseModel& model) const;
  void take_off(const std::string& repository, std::string_view model) const noexcept;

 private:
  const std::string directory_;
  const std::vector<std::string> sources_;
};

}  // namespace atl::pools
