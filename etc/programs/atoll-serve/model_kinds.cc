#include "model_kinds.h"

#include <algorithm>

namespace atl::serve {
namespace {

constexpr ModelKind kKinds[] = {
    {".onnx", "", "onnxruntime", "model.onnx", "", "", false},
    {".xml", "", "openvino", "model.xml", ".bin", "model.bin", false},
    {"", "saved_model.pb", "tensorflow", "model.savedmodel", "", "", false},
    {".tflite", "", "openvino", "model.tflite", "", "", true},
    {".gguf", "", "llamacpp", "model.gguf", "", "", true},
    {".py", "", "python", "model.py", "", "", false},
};

}  // namespace

std::span<const ModelKind> model_kinds() noexcept { return kKinds; }

const ModelKind* kind_of_file(std::string_view name) noexcept {
  const auto* found = std::ranges::find_if(kKinds, [&](const ModelKind& kind) {
    return !kind.ending.empty() && name.size() > kind.ending.size() && name.ends_with(kind.ending);
  });
  return found == std::end(kKinds) ? nullptr : found;
}

bool is_version_file(std::string_view name) noexcept {
  constexpr std::string_view kOthers[] = {"model.pt", "model.plan", "model.graphdef"};
  return std::ranges::find(kOthers, name) != std::end(kOthers) ||
         std::ranges::any_of(kKinds, [&](const ModelKind& kind) { return kind.file == name; });
}

}  // namespace atl::serve
