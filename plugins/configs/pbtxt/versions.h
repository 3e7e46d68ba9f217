/// Which versions of a model are served.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/repository.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// The versions that the policy selects among those present, ascending. An absent policy means the latest
/// one; `latest {}` means none. \param warnings  gets a text for each version asked for but absent; may be
/// null. Errors: INVALID_ARGUMENT no version is left.
Result<std::vector<RepositoryVersion>> select_versions(const inference::ModelConfig& config,
                                                       const std::vector<RepositoryVersion>& present,
                                                       std::vector<std::string>* warnings);

}  // namespace atl::pbtxt
