#include "backends/openvino/model_format.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/text.h"
#include "backends/common/model_file.h"

namespace atl::openvino {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 4096;
constexpr std::string_view kDefaultName = "model.xml";
constexpr std::string_view kOtherNames[] = {"model.onnx",        "model.tflite",     "model.pdmodel",
                                            "model.saved_model", "model.savedmodel", "model.graphdef",
                                            "model.pb"};

struct Suffix {
  std::string_view suffix;
  ModelFormat format;
  const char* what;  ///< for messages: "a file of OpenVINO's IR"
};
constexpr Suffix kSuffixes[] = {
    {".xml", ModelFormat::kIr, "an OpenVINO IR file"},
    {".onnx", ModelFormat::kOnnx, "an ONNX file"},
    {".pb", ModelFormat::kGraphDef, "a frozen TensorFlow graph"},
    {".graphdef", ModelFormat::kGraphDef, "a frozen TensorFlow graph"},
    {".tflite", ModelFormat::kTfLite, "a TensorFlow Lite file"},
    {".pdmodel", ModelFormat::kPaddle, "a PaddlePaddle file"},
};

const Suffix* suffix_of(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  const auto found = std::ranges::find(kSuffixes, ending, &Suffix::suffix);
  return found == std::end(kSuffixes) ? nullptr : &*found;
}

std::string head_of(const std::string& path) {
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return head;
}

/// Whether bytes can be the first tag of a protobuf message whose fields have these numbers.
bool begins_with_field(std::string_view head, std::string_view tags) {
  return head.size() >= 2 && tags.find(head[0]) != std::string_view::npos;
}

bool is_as_expected(ModelFormat format, std::string_view head) {
  switch (format) {
    case ModelFormat::kIr: {
      const size_t begin = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
      return begin != std::string_view::npos && head[begin] == '<' &&
             head.find("<net") != std::string_view::npos;
    }
    case ModelFormat::kOnnx:  // ir_version, producer..., graph, opset_import, metadata, functions
      return begins_with_field(head, "\x08\x12\x1a\x22\x28\x32\x3a\x42\x72");
    case ModelFormat::kGraphDef:  // node, library, version, versions
      return begins_with_field(head, "\x0a\x12\x18\x22");
    case ModelFormat::kTfLite:
      return head.size() >= 8 && head.substr(4, 4) == "TFL3";
    case ModelFormat::kPaddle:  // blocks, version, op_version_map
      return begins_with_field(head, "\x0a\x22\x2a");
    case ModelFormat::kSavedModel:  // saved_model_schema_version, meta_graphs
      return begins_with_field(head, "\x08\x12");
  }
  return false;
}

/// Whether an IR file has operations that keep values. Read in pieces, because weights of small models may be written in it.
bool has_state_in(const std::string& path) {
  constexpr std::string_view kOperation = "type=\"ReadValue\"";
  std::ifstream file(path, std::ios::binary);
  std::string piece(1 << 16, '\0'), kept;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    kept.append(piece, 0, static_cast<size_t>(file.gcount()));
    if (kept.find(kOperation) != std::string::npos) return true;
    kept.erase(0, kept.size() - std::min(kept.size(), kOperation.size()));
  }
  return false;
}

uint64_t bytes_below(const std::string& folder) {
  constexpr int kFilesMax = 10000;
  uint64_t sum = 0;
  std::error_code error, ignored;
  fs::recursive_directory_iterator entry(folder, error);
  for (int i = 0; !error && entry != fs::recursive_directory_iterator() && i < kFilesMax; ++i) {
    if (entry->is_regular_file(ignored)) {
      const uint64_t size = entry->file_size(ignored);
      if (!ignored) sum += size;
    }
    entry.increment(error);
  }
  return sum;
}

uint64_t weights_beside(const std::string& path, ModelFormat format) {
  const char* const suffix = format == ModelFormat::kIr       ? ".bin"
                             : format == ModelFormat::kPaddle ? ".pdiparams"
                                                              : nullptr;
  if (suffix == nullptr) return 0;
  std::error_code error;
  const uint64_t size = fs::file_size(fs::path(path).replace_extension(suffix), error);
  return error ? 0 : size;
}

Result<FormatFiles> saved_model_in(const std::string& folder) {
  auto graph = backends::find_model_file(folder, "saved_model.pb", "a TensorFlow SavedModel");
  if (!graph.ok()) return std::move(graph).status();
  if (!is_as_expected(ModelFormat::kSavedModel, head_of(graph->path)))
    return invalid_argument("model file '", graph->path, "': its bytes are not those of a SavedModel");
  return FormatFiles{folder, ModelFormat::kSavedModel, bytes_below(folder), false};
}

Result<FormatFiles> find_named(const std::string& version_directory, const std::string& name) {
  std::error_code ignored;
  const std::string folder = cat(version_directory, "/", name);
  auto file = backends::find_model_file(version_directory, name, "a model file");
  // Asked after the name was looked at: a name that leaves the folder is refused before anything there is touched.
  const bool is_inside = file.ok() || file.status().code() != Code::kInvalidArgument;
  if (is_inside && fs::is_regular_file(fs::path(folder) / "saved_model.pb", ignored))
    return saved_model_in(folder);
  if (!file.ok()) return std::move(file).status();
  const Suffix* const suffix = suffix_of(file->path);
  if (suffix == nullptr) {
    return invalid_argument("model file '", file->path,
                            "': expected the suffix .xml, .onnx, .tflite, .pdmodel, .pb or .graphdef, or a "
                            "folder with saved_model.pb");
  }
  if (!is_as_expected(suffix->format, head_of(file->path)))
    return invalid_argument("model file '", file->path, "': its first bytes are not those of ", suffix->what);
  return FormatFiles{file->path, suffix->format,
                     file->size_bytes + weights_beside(file->path, suffix->format),
                     suffix->format == ModelFormat::kIr && has_state_in(file->path)};
}

}  // namespace

const char* format_name(ModelFormat format) noexcept {
  constexpr const char* kNames[] = {"OpenVINO IR",           "ONNX",
                                    "TensorFlow SavedModel", "TensorFlow GraphDef",
                                    "TensorFlow Lite",       "PaddlePaddle"};
  return kNames[static_cast<size_t>(format)];
}

Result<FormatFiles> find_model(const std::string& version_directory, const std::string& file_name) noexcept
    try {
  const std::string name = file_name.empty() ? std::string(kDefaultName) : file_name;
  auto found = find_named(version_directory, name);
  if (found.ok() || found.status().code() != Code::kNotFound || name != kDefaultName) return found;
  for (const std::string_view other : kOtherNames) {
    std::error_code ignored;
    if (fs::exists(fs::path(version_directory) / other, ignored))
      return find_named(version_directory, std::string(other));
  }
  return found;
} catch (const std::exception& error) {
  return internal_error("model in '", version_directory, "': ", error.what());
}

}  // namespace atl::openvino
