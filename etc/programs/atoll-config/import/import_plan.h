/// What an import makes, before anything is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/status.h"

namespace atl::config {

/// Which versions are served.
struct VersionChoice {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  uint32_t latest = 1;
  std::set<int64_t> specific;
};

struct ImportedVersion {
  int64_t number = 0;
  /// From a file or folder that there is to its name in the version's folder.
  std::vector<std::pair<std::filesystem::path, std::string>> files;
};

struct ImportedModel {
  std::string name;
  std::vector<ImportedVersion> versions;
  VersionChoice choice;
  std::string backend;  ///< that serves it: "tensorflow"
  std::string config;   ///< config.pbtxt without its version_policy
  std::map<std::string, int64_t> labels;
  std::filesystem::path base;  ///< where it comes from
};

struct ImportPlan {
  std::vector<ImportedModel> models;
  std::vector<std::string> left_out;  ///< "MODEL: FIELD: reason", for what is not carried over
  uint16_t grpc_port = 0;
  uint16_t http_port = 0;

  void leave_out(const std::string& model, const std::string& field, const std::string& reason) {
    left_out.push_back(model.empty() ? field + ": " + reason : model + ": " + field + ": " + reason);
  }
};

/// Reads a models.config of TensorFlow Serving, and which files there are. Relative paths are below the file's folder.
/// Errors: INVALID_ARGUMENT it is not what it should be, with the line; NOT_FOUND, UNAVAILABLE a file or folder cannot be read.
Result<ImportPlan> read_serving_models(const std::filesystem::path& file);
/// Reads a config.json of OpenVINO Model Server. Errors: as read_serving_models().
Result<ImportPlan> read_model_server(const std::filesystem::path& file);

// --- for the two above ---
inline constexpr size_t kMostConfigBytes = 16 << 20;
/// The bytes of a configuration. Errors: NOT_FOUND, UNAVAILABLE it cannot be read; INVALID_ARGUMENT it is too large.
Result<std::string> read_config_file(const std::filesystem::path& file);
/// Where a model's versions are. Errors: INVALID_ARGUMENT the path is of a cloud's store, or empty; NOT_FOUND there is none.
Result<std::filesystem::path> model_base(const std::filesystem::path& config, const std::string& model,
                                         const std::string& base_path);
/// The folders of versions, by number. Names that are no version are told in `plan`. Errors: UNAVAILABLE it cannot be listed;
/// INVALID_ARGUMENT two have the same number.
Result<std::map<int64_t, std::filesystem::path>> version_folders(const std::filesystem::path& base,
                                                                 const std::string& model, ImportPlan& plan);
/// Adds a model that is complete. Errors: INVALID_ARGUMENT its name cannot be a folder's or is there already, none of its
/// versions is served.
Status add_model(ImportedModel model, ImportPlan& plan);

}  // namespace atl::config
