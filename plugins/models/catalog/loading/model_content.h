/// What a version is made of, as one number: ModelInfo::content_id.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/models/model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// The files of one version. What Python compiles while it loads is not among them, and the configuration's file is
/// not either, since it is not always what the configuration was read from. [worker]
class ModelContent {
 public:
  ModelContent() = default;
  /// As they are before the version is loaded. \param version_directory  those of other versions do not count
  static ModelContent look(const std::string& model_directory, const std::string& version_directory);

  /// After it was loaded: reads them. Empty: one cannot be read, or is not what it was before.
  std::string id(const inference::ModelConfig& config) const;

 private:
  struct File {
    std::string name;  ///< below the model directory
    uint64_t size = 0, inode = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  static bool stat_file(const std::string& directory, File& file);

  bool known_ = false;
  std::string directory_;
  std::vector<File> files_;  ///< by name
};

/// Of an ensemble. Empty: that of a member is.
std::string ensemble_content_id(const inference::ModelConfig& config, std::span<Model* const> members);

}  // namespace atl::models
