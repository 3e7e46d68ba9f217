#include "backends/pytorch/settings.h"

#include <ATen/Parallel.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <charconv>
#include <exception>
#include <mutex>
#include <optional>

#include "atoll/backend/parameters.h"

namespace atl::pytorch {
namespace {

constexpr int64_t kThreadsMax = 1024;

std::mutex g_process;  // guards what was said first
std::map<std::string, int64_t, std::less<>> g_said;

/// \returns whether the value is to be applied now.
bool is_first(const std::string& key, int64_t value, const std::string& model, Log& log) {
  const auto [known, fresh] = g_said.emplace(key, value);
  if (!fresh && known->second != value) {
    log.warning("model '", model, "': parameter '", key, "' has no effect: it holds for the process, and is ",
                known->second, " already");
  }
  return fresh;
}

Status apply_flag(const ModelDescription& model, const std::string& key, Log& log, void (*apply)(bool)) {
  if (!backends::text_parameter(model, key)) return {};
  Result<bool> value = backends::bool_parameter(model, key, true);
  if (!value.ok()) return std::move(value).status();
  if (is_first(key, *value ? 1 : 0, model.name, log)) apply(*value);
  return {};
}

Status apply_inter_op_threads(const ModelDescription& model, Log& log) {
  const std::string key = "INTER_OP_THREAD_COUNT";
  if (!backends::text_parameter(model, key)) return {};
  Result<int64_t> count = backends::int_parameter(model, key, 1, 1, kThreadsMax);
  if (!count.ok()) return std::move(count).status();
  if (!is_first(key, *count, model.name, log)) return {};
  try {
    at::set_num_interop_threads(static_cast<int>(*count));
  } catch (const std::exception&) {  // they run already
    log.warning("model '", model.name, "': parameter '", key,
                "' has no effect: PyTorch's threads have been started");
  }
  return {};
}

}  // namespace

Result<TorchSettings> read_settings(const ModelDescription& model,
                                    const std::map<std::string, std::string>& backend_settings,
                                    int64_t intra_op_threads) noexcept {
  TorchSettings settings;
  Result<bool> inference = backends::bool_parameter(model, "INFERENCE_MODE", true);
  if (!inference.ok()) return std::move(inference).status();
  settings.inference_mode = *inference;
  Result<bool> plain = backends::bool_parameter(model, "DISABLE_OPTIMIZED_EXECUTION", false);
  if (!plain.ok()) return std::move(plain).status();
  settings.optimized = !*plain;
  Result<bool> shared = backends::bool_parameter(model, "ENABLE_WEIGHT_SHARING", false);
  if (!shared.ok()) return std::move(shared).status();
  settings.shares_weights = *shared;
  const auto setting = backend_settings.find("intra_op_thread_count");
  if (setting != backend_settings.end()) {
    const std::string& text = setting->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), intra_op_threads);
    if (error != std::errc() || end != text.data() + text.size() || intra_op_threads < 1 ||
        intra_op_threads > kThreadsMax) {
      return invalid_argument("backend setting 'intra_op_thread_count': found '", text, "', expected 1 to ",
                              kThreadsMax);
    }
  }
  Result<int64_t> threads =
      backends::int_parameter(model, "INTRA_OP_THREAD_COUNT", intra_op_threads, 1, kThreadsMax);
  if (!threads.ok()) return std::move(threads).status();
  settings.intra_op_threads = static_cast<int>(*threads);
  return settings;
}

Status apply_process_settings(const ModelDescription& model, Log& log) noexcept {
  std::lock_guard lock(g_process);
  ATOLL_RETURN_IF_ERROR(
      apply_flag(model, "ENABLE_JIT_EXECUTOR", log, [](bool on) { torch::jit::getExecutorMode() = on; }));
  ATOLL_RETURN_IF_ERROR(
      apply_flag(model, "ENABLE_JIT_PROFILING", log, [](bool on) { torch::jit::getProfilingMode() = on; }));
  ATOLL_RETURN_IF_ERROR(apply_flag(model, "ENABLE_TENSOR_FUSER", log, torch::jit::setTensorExprFuserEnabled));
  return apply_inter_op_threads(model, log);
}

}  // namespace atl::pytorch
