/// Files of models, decrypted.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/log.h"
#include "atoll/models/model_files.h"
#include "security/model_keys/key_source.h"

namespace atl::model_keys {

class ModelDecryptor final : public ModelFiles {
 public:
  /// \param lock  the memory of plain bytes is locked. \param source, log  outlive this object
  ModelDecryptor(const KeySource& source, bool lock, Log& log) noexcept
      : source_(source), lock_(lock), log_(log) {}
  virtual ~ModelDecryptor() = default;

  Result<std::unique_ptr<ModelFileBytes>> read(const std::string& path,
                                               const std::string& version_directory) noexcept override;

 private:
  const KeySource& source_;
  const bool lock_;
  Log& log_;
};

}  // namespace atl::model_keys
