/// A model that has been read and is to be built, or was built.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/models/model.h"
#include "atoll/models/repository.h"
#include "models/catalog/serving/agent_run.h"

namespace atl::models {

/// A model that an ensemble is made of.
struct EnsembleMember {
  std::string model;
  int64_t version = ModelCatalog::kLatest;
};

/// Never changes once a version is built of it. The versions hold it, and so their files, while they live.
struct PreparedModel {
  RepositoryModel files;
  /// What was there before repository agents led elsewhere; null: they did not.
  std::shared_ptr<const RepositoryModel> original;
  std::weak_ptr<AgentRun> agents;  ///< the versions hold it, not who remembers what they are made of
  /// From before the files were read, of where they were then; empty: changes cannot be told.
  std::vector<RepositoryStamp> stamps;
  std::shared_ptr<const void> directory;       ///< of files that a client brought; null: from the repository
  std::shared_ptr<const void> held;            ///< keeps the repository's files; null: nobody removes them
  std::optional<std::string> config_override;  ///< JSON that the configuration was read from
  std::string config;                          ///< serialized; normalised, not completed
  std::vector<RepositoryVersion> versions;     ///< selected, ascending
  std::vector<EnsembleMember> members;         ///< of an ensemble
  bool ensemble = false;
};

/// Whether a version that was built of one model would differ in its instances only, built of another: what
/// is_same_version() compares is the same but for the instance groups. Not of models with sequences: those
/// that run are bound to their instances.
bool differs_in_instances(const PreparedModel& built, const PreparedModel& other, int64_t version);

/// Whether a version that was built of one model would be the same built of another: its files and what all
/// versions share did not change, and the configurations differ in the version policy at most.
bool is_same_version(const PreparedModel& built, const PreparedModel& other, int64_t version);

/// Likewise, of what a client brought, too: whoever counts one goes on with the other.
bool is_made_of_the_same(const PreparedModel& built, const PreparedModel& other, int64_t version);

}  // namespace atl::models
