/// Where the files of a model version are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::backends {

struct ModelFile {
  std::string path;
  uint64_t size_bytes = 0;
};

/// Finds a file of a version: `file_name` in the version directory, or the file of that name inside a directory of
/// that name. \param what  for messages: "an ONNX file"
/// Errors: INVALID_ARGUMENT the name leaves the directory, or what is there is empty or no regular file;
/// NOT_FOUND nothing is there.
Result<ModelFile> find_model_file(const std::string& version_directory, const std::string& file_name,
                                  std::string_view what) noexcept;

}  // namespace atl::backends
