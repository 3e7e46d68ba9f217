#include "backends/onnxruntime/gpu_settings.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace atl::ort {
namespace {

using Texts = std::span<const std::string_view>;

/// What a value of a key may be, beside a number of 0 or more: names, which may be given by their position as well.
struct Key {
  std::string_view name;
  Texts values;            ///< empty: numbers
  bool parameter = false;  ///< of models too, not only of the accelerator
};

constexpr std::string_view kSearches[] = {"EXHAUSTIVE", "HEURISTIC", "DEFAULT"};
constexpr std::string_view kStrategies[] = {"kNextPowerOfTwo", "kSameAsRequested"};
constexpr Key kCudaKeys[] = {
    {"arena_extend_strategy", kStrategies, true},
    {"cudnn_conv1d_pad_to_nc1d", {}},
    {"cudnn_conv_algo_search", kSearches, true},
    {"cudnn_conv_use_max_workspace", {}},
    {"do_copy_in_default_stream", {}, true},
    {"enable_cudnn", {}},
    {"enable_skip_layer_norm_strict_mode", {}},
    {"fuse_conv_bias", {}},
    {"gpu_mem_limit", {}, true},
    {"prefer_nhwc", {}},
    {"sdpa_kernel", {}},
    {"tunable_op_enable", {}},
    {"tunable_op_max_tuning_duration_ms", {}},
    {"tunable_op_tuning_enable", {}},
    {"use_ep_level_unified_stream", {}},
    {"use_tf32", {}},
};
constexpr std::string_view kPrecisions[] = {"FP32", "FP16"};
constexpr Key kTensorRtKeys[] = {
    {"max_workspace_size_bytes", {}},
    {"precision_mode", kPrecisions},
    {"trt_auxiliary_streams", {}},
    {"trt_bf16_enable", {}},
    {"trt_builder_optimization_level", {}},
    {"trt_context_memory_sharing_enable", {}},
    {"trt_fp16_enable", {}},
    {"trt_layer_norm_fp32_fallback", {}},
    {"trt_max_partition_iterations", {}},
    {"trt_max_workspace_size", {}},
    {"trt_min_subgraph_size", {}},
};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 19 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string joined(Texts texts) {
  std::string all;
  for (std::string_view text : texts) all += cat(all.empty() ? "" : ", ", text);
  return all;
}

/// The value as ONNX Runtime takes it. \param where  the parameter, for the message
Result<std::string> value_of(const Key& key, std::string_view text, std::string_view where) {
  if (key.values.empty()) {
    if (is_number(text)) return std::string(text);
    return invalid_argument(where, " '", key.name, "': found '", text, "', expected a number of 0 or more");
  }
  for (size_t i = 0; i < key.values.size(); ++i) {
    if (text == key.values[i] || text == cat(i)) return std::string(key.values[i]);
  }
  return invalid_argument(where, " '", key.name, "': found '", text, "', expected one of ",
                          joined(key.values), ", or its number, from 0 on");
}

std::string names_of(std::span<const Key> keys) {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return joined(names);
}

using Accelerator = inference::ModelOptimizationPolicy::ExecutionAccelerators::Accelerator;

Status read_accelerator(const Accelerator& accelerator, std::span<const Key> keys, ProviderOptions& options) {
  const std::string where = cat("gpu_execution_accelerator '", accelerator.name(), "': parameter");
  for (const auto& [name, text] : accelerator.parameters()) {
    const auto key = std::ranges::find(keys, std::string_view(name), &Key::name);
    if (key == keys.end()) {
      return invalid_argument(where, " '", name, "' is not one of ", names_of(keys));
    }
    Result<std::string> value = value_of(*key, text, where);
    if (!value.ok()) return std::move(value).status();
    options[name] = std::move(value).value();
  }
  return {};
}

/// Triton's names for two of them.
void rename_tensorrt(ProviderOptions& options) {
  if (const auto size = options.find("max_workspace_size_bytes"); size != options.end()) {
    options["trt_max_workspace_size"] = size->second;
    options.erase(size);
  }
  if (const auto precision = options.find("precision_mode"); precision != options.end()) {
    options["trt_fp16_enable"] = precision->second == "FP16" ? "1" : "0";
    options.erase(precision);
  }
}

/// Options object of one provider, filled in.
template <class Options, class Create, class Update>
Result<Handle<Options>> provider_options(const ProviderOptions& wanted, Create create, Update update) {
  Handle<Options> options;
  ATOLL_RETURN_IF_ERROR(make(options, create));
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : wanted) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  ATOLL_RETURN_IF_ERROR(check(update(options.get(), keys.data(), values.data(), keys.size())));
  return options;
}

Result<Handle<OrtCUDAProviderOptionsV2>> cuda_options(ProviderOptions wanted, int32_t device) {
  wanted["device_id"] = cat(device);
  return provider_options<OrtCUDAProviderOptionsV2>(wanted, api().CreateCUDAProviderOptions,
                                                    api().UpdateCUDAProviderOptions);
}

/// What could not be loaded and why, without the place in ONNX Runtime that noticed.
Status without_origin(Status failure) {
  const std::string_view message = failure.message();
  const size_t from = message.find("Failed to load library");
  return from == std::string_view::npos ? std::move(failure)
                                        : make_status(failure.code(), message.substr(from));
}

/// Those of graph_spec, or else those that batches mostly have. A model that does not batch has runs of size 1.
std::set<uint32_t> graph_sizes_of(const inference::ModelConfig& config) {
  std::set<uint32_t> sizes;
  const auto add = [&](int32_t size) {
    if (size <= std::max(config.max_batch_size(), 1)) sizes.insert(static_cast<uint32_t>(std::max(size, 1)));
  };
  for (const auto& spec : config.optimization().cuda().graph_spec()) add(spec.batch_size());
  if (!sizes.empty()) return sizes;
  add(1);
  add(config.max_batch_size());
  if (config.has_dynamic_batching()) {
    for (int32_t size : config.dynamic_batching().preferred_batch_size()) add(size);
  } else {
    for (int32_t size : {2, 3, 4, 6, 8, 12, 16}) add(size);
  }
  return sizes;
}

}  // namespace

Result<GpuSettings> read_gpu_settings(const inference::ModelConfig& config) noexcept {
  GpuSettings settings;
  // An instance has its session for itself, so a stream a thread would be streams for nothing.
  settings.cuda["use_ep_level_unified_stream"] = "1";
  for (const Key& key : kCudaKeys) {
    const auto parameter = config.parameters().find(std::string(key.name));
    if (!key.parameter || parameter == config.parameters().end()) continue;
    Result<std::string> value = value_of(key, parameter->second.string_value(), "parameter");
    if (!value.ok()) return std::move(value).status();
    settings.cuda[std::string(key.name)] = std::move(value).value();
  }
  for (const Accelerator& accelerator :
       config.optimization().execution_accelerators().gpu_execution_accelerator()) {
    if (accelerator.name() == "cuda") {
      ATOLL_RETURN_IF_ERROR(read_accelerator(accelerator, kCudaKeys, settings.cuda));
    } else if (accelerator.name() == "tensorrt") {
      settings.tensorrt.emplace();
      ATOLL_RETURN_IF_ERROR(read_accelerator(accelerator, kTensorRtKeys, *settings.tensorrt));
      rename_tensorrt(*settings.tensorrt);
    } else {
      return invalid_argument("unknown Execution Accelerator '", accelerator.name(), "' is requested");
    }
  }
  const auto& optimization = config.optimization();
  if (optimization.cuda().graphs()) settings.graph_sizes = graph_sizes_of(config);
  settings.pinned_inputs =
      !optimization.has_input_pinned_memory() || optimization.input_pinned_memory().enable();
  return settings;
}

Status add_gpu(OrtSessionOptions& options, const GpuSettings& settings, int32_t device) noexcept {
  if (settings.tensorrt) {
    ProviderOptions wanted = *settings.tensorrt;
    wanted["device_id"] = cat(device);
    auto tensorrt = provider_options<OrtTensorRTProviderOptionsV2>(
        wanted, api().CreateTensorRTProviderOptions, api().UpdateTensorRTProviderOptions);
    Status status =
        tensorrt.ok()
            ? check(api().SessionOptionsAppendExecutionProvider_TensorRT_V2(&options, tensorrt->get()))
            : std::move(tensorrt).status();
    if (!status.ok()) {
      return make_status(status.code(), "gpu_execution_accelerator 'tensorrt': ", status.message());
    }
  }
  ProviderOptions wanted = settings.cuda;
  if (!settings.graph_sizes.empty()) wanted["enable_cuda_graph"] = "1";
  auto cuda = cuda_options(std::move(wanted), device);
  if (!cuda.ok()) return std::move(cuda).status();
  return check(api().SessionOptionsAppendExecutionProvider_CUDA_V2(&options, cuda->get()));
}

Status load_cuda_provider(int32_t device) noexcept {
  auto options = cuda_options({}, device);
  if (!options.ok()) return without_origin(std::move(options).status());
  // The provider is loaded by either call, which fails with what the loader said.
  Handle<OrtSessionOptions> session;
  ATOLL_RETURN_IF_ERROR(make(session, api().CreateSessionOptions));
  return without_origin(
      check(api().SessionOptionsAppendExecutionProvider_CUDA_V2(session.get(), options->get())));
}

}  // namespace atl::ort
