/// The [[step]] tables of pipeline.toml. Private to this folder.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "backends/cuda/code/toml_fields.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {

/// Appends the step, and what it imports. \param pipeline  with all that steps name
Status read_step(const RawValue& value, const std::string& version_directory, const ModelDescription& model,
                 Pipeline& pipeline);

/// An integer, or the text of an expression. \param field  "grid[1]"
Result<Expression> read_expression(const TomlFields& fields, const std::string& field, const RawValue& value,
                                   const TensorTable& table);

}  // namespace atl::cuda_backend
