/// The objects by which a cluster is asked for a server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {

/// Places of command lines that the cluster fills, from the container's environment.
inline constexpr std::string_view kHostReference = "$(ATOLL_POD_IP)", kKeyReference = "$(ATOLL_KEY)";
inline constexpr std::string_view kKeyVariableName = "ATOLL_KEY";

/// A folder that servers see at the path that it has for this process.
struct ClaimMount {
  std::string path;
  std::string claim;        ///< name of a PersistentVolumeClaim
  std::string folder = {};  ///< in the claim; empty: all of it
};

/// What all pods have alike.
struct PodSettings {
  std::string keeper;  ///< whose pods they are
  std::string image;
  std::map<std::string, std::string> images = {};  ///< by runtime, where it is another one
  std::vector<ClaimMount> claims = {};
  std::string gpu_resource = "nvidia.com/gpu";
  uint16_t http_port = 8000;
  uint16_t grpc_port = 8001;  ///< 0: none
  int64_t stop_timeout_ns = 0;
  int64_t start_timeout_ns = 0;
  uint64_t dev_shm_bytes = 0;  ///< 0: what the cluster's nodes give
  /// An object; what it says of a pod comes before what is said here.
  Json pod_template = Json::object();
};

/// "claim" or "claim/folder/in/it".
Result<ClaimMount> read_claim(const std::string& path, const std::string& text);

/// Text for a command line of a container, in which it is not read as a reference to a variable.
std::string without_references(std::string_view text);

/// A pod that runs the server. \param words  its command line, where references to variables are filled by the cluster
Json pod_object(const ServerSpec& server, const std::vector<std::string>& words, const PodSettings& settings);

/// The variables that only the server itself and the cluster's administrators may read: each "NAME=value". It goes when its pod does.
/// \param pod_uid  of the pod, which is there already
Json secret_object(const ServerSpec& server, const std::vector<std::string>& variables,
                   const std::string& pod_uid, const PodSettings& settings);

/// Objects become one, by members; lists of things with names by the names (those of volume mounts are paths); other lists of objects one
/// behind the other; what is left is taken from `over`.
void merge_over(Json& base, const Json& over, std::string_view name = {});

/// Reads an operator's template: an object with "spec", in JSON.
Result<Json> read_pod_template(std::string_view text, const std::string& file);

/// What a call that deletes a pod says. \param uid  of the pod that is meant; empty: whichever has the name
Json delete_options(const std::string& uid);

}  // namespace atl::launchers
