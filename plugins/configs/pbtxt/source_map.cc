#include "source_map.h"

#include <charconv>

#include "model_config.pb.h"

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;

/// One step of a field path: "preferred_batch_size[1]".
struct Step {
  std::string name;
  int index = 0;
};

Step take_step(std::string_view* path) {
  std::string_view text = path->substr(0, path->find('.'));
  path->remove_prefix(text.size() == path->size() ? text.size() : text.size() + 1);
  Step step;
  size_t bracket = text.find('[');
  step.name = text.substr(0, bracket);
  if (bracket != std::string_view::npos) {
    std::from_chars(text.data() + bracket + 1, text.data() + text.size(), step.index);
  }
  return step;
}

protobuf::TextFormat::ParseLocation find_place(const protobuf::TextFormat::ParseInfoTree* tree,
                                               std::string_view path) {
  protobuf::TextFormat::ParseLocation best;
  const protobuf::Descriptor* type = inference::ModelConfig::descriptor();
  while (!path.empty() && tree != nullptr && type != nullptr) {
    Step step = take_step(&path);
    const protobuf::FieldDescriptor* field = type->FindFieldByName(step.name);
    if (field == nullptr) break;
    int index = field->is_repeated() ? step.index : -1;
    auto place = tree->GetLocation(field, index);
    // A list in brackets is one place for all its elements.
    if (place.line < 0 && index > 0) place = tree->GetLocation(field, 0);
    if (place.line >= 0) best = place;
    type = field->message_type();
    tree = type == nullptr ? nullptr : tree->GetTreeForNested(field, index);
  }
  return best;
}

}  // namespace

SourceMap::Place SourceMap::find(std::string_view field) const {
  auto place = find_place(tree_.get(), field);
  return place.line < 0 ? Place() : Place{place.line + 1, place.column + 1};
}

std::string SourceMap::place(std::string_view field) const {
  if (path_.empty()) return {};
  Place place = find(field);
  if (place.line == 0) return cat(path_, ": field '", field, "'");
  return cat(path_, ":", place.line, ":", place.column, ": field '", field, "'");
}

}  // namespace atl::pbtxt
