/// Encrypted copies of model folders on this machine, as security/model_keys reads them.
#pragma once

#include <cstddef>
#include <string>

#include "atoll/core/status.h"

namespace atl::ctl {

struct ModelEncryption {
  std::string folder;    ///< of a model: config.pbtxt, and folders of versions
  std::string out;       ///< the new folder; empty: `folder` with ".encrypted" behind its name
  std::string key_file;  ///< lines 'ID:KEY'
  std::string key_id;    ///< empty: the file's only key
};

struct EncryptedModel {
  std::string folder;  ///< where it is
  std::string key_id;
  size_t files = 0;  ///< that were encrypted
};

/// Copies a model's folder and encrypts all files in folders of versions, which are those with a number as name. Other files,
/// such as config.pbtxt and labels, stay as they are, since the server reads them by itself. Links are followed. The new folder
/// has its name when everything in it is on the disk, and is not there before. The old one stays. Each file keeps its name in
/// the folder of its version; under another one it is refused.
/// Errors: INVALID_ARGUMENT there is no such folder or key, a file is encrypted already or has a name that no encrypted file can
/// have, no version has a file, something is neither file nor folder, or the new folder is there; INTERNAL what the system says. Nothing is left then.
Result<EncryptedModel> encrypt_model(const ModelEncryption& what) noexcept;

}  // namespace atl::ctl
