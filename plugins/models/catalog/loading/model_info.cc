#include "models/catalog/loading/model_info.h"

#include <atomic>
#include <set>
#include <utility>

#include "atoll/proto/model_description.h"
#include "atoll/proto/parse_model_config.h"
#include "models/catalog/loading/label_file.h"

namespace atl::models {
namespace {

constexpr std::string_view kCacheParameters = "response_cache_parameters";

Status check_names(const std::vector<TensorSpec>& specs, std::string_view what, std::string_view model) {
  std::set<std::string_view> seen;
  for (const TensorSpec& spec : specs) {
    if (!seen.insert(spec.name).second) {
      return invalid_argument("model ", what, " '", spec.name, "' appears twice for ", model);
    }
  }
  return {};
}

/// The names of a list with commas; blanks around them do not count.
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = list.find(',');
    std::string_view name = list.substr(0, end);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return names;
}

}  // namespace

Status parse_config(std::string_view bytes, inference::ModelConfig* config) {
  if (!proto::parse_model_config(bytes, config)) {
    return internal_error("the model configuration's ", bytes.size(),
                          " bytes are no serialized inference.ModelConfig");
  }
  return {};
}

Result<ModelInfo> make_model_info(const inference::ModelConfig& config, std::string bytes, int64_t version,
                                  const std::string& model_directory) {
  ModelInfo info;
  info.name = config.name();
  info.version = version;
  info.version_text = cat(version);
  info.platform = config.platform().empty() ? config.backend() : config.platform();
  if (config.max_batch_size() < 0) {
    return invalid_argument("max_batch_size of model '", info.name, "' is ", config.max_batch_size(),
                            ", expected a number >= 0");
  }
  ModelDescription model = proto::describe_model(config);
  info.max_batch_size = model.max_batch_size;
  info.decoupled = model.decoupled;
  info.response_cache = config.response_cache().enable() && !info.decoupled;
  if (auto listed = model.parameters.find(kCacheParameters); listed != model.parameters.end()) {
    info.cache_parameters = names_in(listed->second);
  }
  static std::atomic<uint64_t> loads{0};
  info.load_id = loads.fetch_add(1, std::memory_order_relaxed) + 1;
  info.inputs = std::move(model.inputs);
  info.outputs = std::move(model.outputs);
  for (const TensorSpec& input : info.inputs) info.required_inputs += input.optional ? 0 : 1;
  for (size_t i = 0; i < info.outputs.size(); ++i) {
    const std::string& file = config.output(static_cast<int>(i)).label_filename();
    if (file.empty()) continue;
    Result<std::vector<std::string>> labels =
        read_label_file(model_directory, file, info.outputs[i].name, info.name);
    if (!labels.ok()) return std::move(labels).status();
    info.outputs[i].labels = std::move(labels).value();
  }
  ATOLL_RETURN_IF_ERROR(check_names(info.inputs, "input", info.name));
  ATOLL_RETURN_IF_ERROR(check_names(info.outputs, "output", info.name));
  info.config = std::move(bytes);
  return info;
}

CorrelationControl find_correlation_control(const inference::ModelConfig& config) {
  using Control = inference::ModelSequenceBatching::Control;
  for (const auto& input : config.sequence_batching().control_input()) {
    for (const auto& control : input.control()) {
      if (control.kind() == Control::CONTROL_SEQUENCE_CORRID) {
        return {input.name(), static_cast<DataType>(control.data_type())};
      }
    }
  }
  return {};
}

}  // namespace atl::models
