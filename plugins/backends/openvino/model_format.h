/// Which of OpenVINO's formats a version's model has, looked at before OpenVINO sees it: it would try every reader on an unknown
/// file, some of which write to standard error.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/status.h"

namespace atl::openvino {

enum class ModelFormat { kIr, kOnnx, kSavedModel, kGraphDef, kTfLite, kPaddle };

/// The name of a format in sentences: "OpenVINO IR".
const char* format_name(ModelFormat format) noexcept;

struct FormatFiles {
  std::string path;  ///< what OpenVINO is to read: a file, or the folder of a SavedModel
  ModelFormat format = ModelFormat::kIr;
  uint64_t size_bytes = 0;  ///< with the weights that lie beside
  bool has_state =
      false;  ///< it keeps values from run to run; of IR only, because other formats are not known to
};

/// Finds `file_name` in the version's folder, a file or a folder. If it is "model.xml" or empty and not there, one of the names that
/// the other formats have. What is found must have the suffix of a format and begin as files of it do.
/// Errors: INVALID_ARGUMENT the name leaves the folder, or what is there is of no format; NOT_FOUND.
Result<FormatFiles> find_model(const std::string& version_directory, const std::string& file_name) noexcept;

}  // namespace atl::openvino
