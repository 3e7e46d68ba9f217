/// Fills in what a configuration leaves to the layout of the model directory.
#pragma once

#include "atoll/core/status.h"
#include "atoll/models/repository.h"
#include "configs/pbtxt/source_map.h"
#include "model_config.pb.h"

namespace atl::pbtxt {

/// Name, platform, backend and default_model_filename from the directory's name and the files of one version
/// directory (the lexicographically first one). Looks at the disk; opens nothing.
/// Errors: INVALID_ARGUMENT "Invalid model name: Could not determine backend for model '<m>' ...", with what is missing or what is there
/// instead.
/// Source: model configuration, "Name, Platform and Backend".
Status derive(const RepositoryModel& model, const SourceMap& source, inference::ModelConfig* config);

}  // namespace atl::pbtxt
