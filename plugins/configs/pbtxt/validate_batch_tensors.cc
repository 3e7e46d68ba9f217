#include <set>
#include <string>

#include "bounds.h"
#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

template <class Tensors>
std::set<std::string> names_of(const Tensors& tensors) {
  std::set<std::string> names;
  for (const auto& tensor : tensors) names.insert(tensor.name());
  return names;
}

Status check_source(const ModelConfig& config, const std::set<std::string>& inputs, const std::string& name,
                    const std::string& field, const SourceMap& source) {
  if (inputs.contains(name)) return {};
  return source.invalid(field + ".source_input[0]", "unknown source input name '", name, "' for ",
                        config.name());
}

Status validate_batch_outputs(const ModelConfig& config, const SourceMap& source) {
  auto inputs = names_of(config.input());
  auto outputs = names_of(config.output());
  std::set<std::string> targets;  // over all entries: an output is cut once
  for (int i = 0; i < config.batch_output_size(); ++i) {
    const auto& batch_output = config.batch_output(i);
    std::string field = cat("batch_output[", i, "]");
    std::string kind = inference::BatchOutput::Kind_Name(batch_output.kind());
    if (kind.empty()) {
      return source.invalid(field + ".kind", "unknown batch output kind '",
                            static_cast<int>(batch_output.kind()), "' for ", config.name());
    }
    if (batch_output.source_input_size() != 1) {
      return source.invalid(field, "batch output kind '", kind, "' expects 1 source input, got ",
                            batch_output.source_input_size(), " for ", config.name());
    }
    ATOLL_RETURN_IF_ERROR(check_source(config, inputs, batch_output.source_input(0), field, source));
    for (int k = 0; k < batch_output.target_name_size(); ++k) {
      const std::string& target = batch_output.target_name(k);
      std::string target_field = cat(field, ".target_name[", k, "]");
      if (!outputs.contains(target)) {
        return source.invalid(target_field, "unknown target output name '", target, "' for ", config.name());
      }
      if (!targets.insert(target).second) {
        return source.invalid(target_field, "target output name '", target,
                              "' can only be specified once for ", config.name());
      }
    }
  }
  return {};
}

/// Each target is one tensor of the model, made by nobody else.
Status check_batch_input_targets(const ModelConfig& config, const std::set<std::string>& inputs,
                                 const SourceMap& source) {
  std::set<std::string> targets;
  for (int i = 0; i < config.batch_input_size(); ++i) {
    const auto& batch_input = config.batch_input(i);
    for (int k = 0; k < batch_input.target_name_size(); ++k) {
      const std::string& target = batch_input.target_name(k);
      std::string field = cat("batch_input[", i, "].target_name[", k, "]");
      if (inputs.contains(target)) {
        return source.invalid(field, "batch input target name '", target,
                              "' is also the name of an input for ", config.name());
      }
      if (!targets.insert(target).second) {
        return source.invalid(field, "batch input target name '", target, "' can only be specified once for ",
                              config.name());
      }
      if (targets.size() > kTensorsMax) {
        return source.invalid(field, "model ", config.name(), " has more than ", kTensorsMax,
                              " batch input targets");
      }
    }
  }
  return {};
}

}  // namespace

Status validate_batch_tensors(const ModelConfig& config, const SourceMap& source) {
  auto inputs = names_of(config.input());
  for (int i = 0; i < config.batch_input_size(); ++i) {
    const auto& batch_input = config.batch_input(i);
    std::string field = cat("batch_input[", i, "]");
    std::string kind = inference::BatchInput::Kind_Name(batch_input.kind());
    if (kind.empty()) {
      return source.invalid(field + ".kind", "unknown batch input kind '",
                            static_cast<int>(batch_input.kind()), "' for ", config.name());
    }
    if (batch_input.source_input_size() != 1) {
      return source.invalid(field, "batch input kind '", kind, "' expects 1 source input, got ",
                            batch_input.source_input_size(), " for ", config.name());
    }
    if (batch_input.data_type() != inference::TYPE_INT32 && batch_input.data_type() != inference::TYPE_FP32) {
      return source.invalid(field + ".data_type",
                            "batch input data type must be TYPE_INT32 or TYPE_FP32 for ", config.name());
    }
    ATOLL_RETURN_IF_ERROR(check_source(config, inputs, batch_input.source_input(0), field, source));
  }
  ATOLL_RETURN_IF_ERROR(validate_batch_outputs(config, source));
  return check_batch_input_targets(config, inputs, source);
}

}  // namespace atl::pbtxt
