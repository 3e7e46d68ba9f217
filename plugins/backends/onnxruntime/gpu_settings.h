/// How a model wants its sessions on GPUs: ONNX Runtime's execution providers for them and their options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "atoll/core/status.h"
#include "backends/onnxruntime/ort_api.h"
#include "model_config.pb.h"

namespace atl::ort {

/// Options of an execution provider, as ONNX Runtime takes them.
using ProviderOptions = std::map<std::string, std::string>;

struct GpuSettings {
  ProviderOptions cuda;
  std::optional<ProviderOptions> tensorrt;  ///< comes before CUDA; nothing: it is not used
  std::set<uint32_t> graph_sizes;           ///< batch sizes that are run as CUDA graphs; empty: none
  bool pinned_inputs = true;                ///< requests are joined in pinned memory, where there is such
};

/// Values that could name a file or an address of this process are refused: a configuration may come from a client.
/// Errors: INVALID_ARGUMENT names the key, what was found and what was expected.
Result<GpuSettings> read_gpu_settings(const inference::ModelConfig& config) noexcept;

/// Sessions made with the options run on the device. Errors: those of ONNX Runtime, which names what it could not load.
Status add_gpu(OrtSessionOptions& options, const GpuSettings& settings, int32_t device) noexcept;

/// Whether ONNX Runtime has its CUDA provider and can load it, which takes long. \param device  any
/// Errors: as add_gpu()
Status load_cuda_provider(int32_t device) noexcept;

}  // namespace atl::ort
