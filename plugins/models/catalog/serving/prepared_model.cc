#include "models/catalog/serving/prepared_model.h"

#include <google/protobuf/util/message_differencer.h>

#include "model_config.pb.h"

namespace atl::models {
namespace {

/// What counts for one version: its folder, and what is neither a version nor the configuration.
std::vector<RepositoryStamp> stamps_of(const PreparedModel& model, int64_t version) {
  using Part = RepositoryStamp::Part;
  std::vector<RepositoryStamp> stamps;
  for (const RepositoryStamp& stamp : model.stamps) {
    bool counts = stamp.part == Part::kOther || (stamp.part == Part::kVersion && stamp.version == version);
    if (counts) stamps.push_back(stamp);
  }
  return stamps;
}

bool is_same_config(const std::string& one, const std::string& other, bool but_for_instances) {
  if (one == other) return true;
  inference::ModelConfig a, b;
  if (!a.ParseFromString(one) || !b.ParseFromString(other)) return false;
  a.clear_version_policy();
  b.clear_version_policy();
  if (but_for_instances) {
    if (a.has_sequence_batching() || a.has_ensemble_scheduling()) return false;
    a.clear_instance_group();
    b.clear_instance_group();
  }
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

/// What agents made for one load is not what they make for another.
bool is_prepared_alike(const PreparedModel& built, const PreparedModel& other) {
  if (built.original == nullptr && other.original == nullptr) return true;
  return !built.agents.owner_before(other.agents) && !other.agents.owner_before(built.agents);
}

bool is_same(const PreparedModel& built, const PreparedModel& other, int64_t version,
             bool but_for_instances) {
  if (built.stamps.empty() || other.stamps.empty()) return false;
  if (built.files.entry.path != other.files.entry.path || !is_prepared_alike(built, other)) return false;
  return stamps_of(built, version) == stamps_of(other, version) &&
         is_same_config(built.config, other.config, but_for_instances);
}

}  // namespace

bool is_same_version(const PreparedModel& built, const PreparedModel& other, int64_t version) {
  return is_same(built, other, version, false);
}

bool is_made_of_the_same(const PreparedModel& built, const PreparedModel& other, int64_t version) {
  if (&built == &other) return true;
  if (built.directory == nullptr) return is_same_version(built, other, version);
  return built.directory == other.directory && is_same_config(built.config, other.config, false);
}

bool differs_in_instances(const PreparedModel& built, const PreparedModel& other, int64_t version) {
  // Of one that is built of again, nothing can have changed.
  return &built == &other || is_same(built, other, version, true);
}

}  // namespace atl::models
