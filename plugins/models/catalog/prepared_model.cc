#include "prepared_model.h"

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

bool is_same_config(const std::string& one, const std::string& other) {
  if (one == other) return true;
  inference::ModelConfig a, b;
  if (!a.ParseFromString(one) || !b.ParseFromString(other)) return false;
  a.clear_version_policy();
  b.clear_version_policy();
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

}  // namespace

bool is_same_version(const PreparedModel& built, const PreparedModel& other, int64_t version) {
  if (built.stamps.empty() || other.stamps.empty()) return false;
  if (built.files.entry.path != other.files.entry.path) return false;
  return stamps_of(built, version) == stamps_of(other, version) && is_same_config(built.config, other.config);
}

}  // namespace atl::models
