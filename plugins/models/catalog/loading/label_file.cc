#include "models/catalog/loading/label_file.h"

#include <utility>

#include "models/catalog/loading/model_file.h"

namespace atl::models {

Result<std::vector<std::string>> read_label_file(const std::string& model_directory,
                                                 const std::string& filename, std::string_view output,
                                                 std::string_view model) {
  std::string path = cat(model_directory, "/", filename);
  if (!is_inside(filename)) {
    return unimplemented("label file path '", path, "' for output '", output, "' in model '", model,
                         "' is outside model directory");
  }
  std::string what = cat("label file '", path, "' for output '", output, "' in model '", model, "'");
  Result<std::string> content = read_model_file(model_directory, filename, kLabelFileBytesMax, what);
  if (!content.ok()) return std::move(content).status();

  std::vector<std::string> labels;
  std::string_view rest = content.value();
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    labels.emplace_back(line);
  }
  return labels;
}

}  // namespace atl::models
