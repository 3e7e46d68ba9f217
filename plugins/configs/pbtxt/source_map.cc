#include "configs/pbtxt/source_map.h"

#include <charconv>
#include <utility>

#include "model_config.pb.h"

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;
using ParseInfoTree = protobuf::TextFormat::ParseInfoTree;
using ParseLocation = protobuf::TextFormat::ParseLocation;

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

bool is_before(const ParseLocation& a, const ParseLocation& b) {
  return std::pair(a.line, a.column) < std::pair(b.line, b.column);
}

/// Where the first of a message's fields was written.
ParseLocation first_field(const ParseInfoTree* tree, const protobuf::Descriptor* type) {
  ParseLocation first;
  for (int i = 0; i < type->field_count(); ++i) {
    const protobuf::FieldDescriptor* field = type->field(i);
    auto place = tree->GetLocation(field, field->is_repeated() ? 0 : -1);
    if (place.line >= 0 && (first.line < 0 || is_before(place, first))) first = place;
  }
  return first;
}

/// A list in brackets is one place for all its elements; those that are messages are told apart by their
/// fields.
ParseLocation element_place(const ParseInfoTree* tree, const protobuf::FieldDescriptor* field, int index) {
  auto place = tree->GetLocation(field, index);
  if (place.line < 0) place = tree->GetLocation(field, 0);
  if (field->message_type() == nullptr) return place;
  int written = 0;
  while (tree->GetLocation(field, written).line >= 0) ++written;
  bool in_brackets = tree->GetTreeForNested(field, written) != nullptr;
  const ParseInfoTree* element = in_brackets ? tree->GetTreeForNested(field, index) : nullptr;
  if (element == nullptr) return place;
  auto first = first_field(element, field->message_type());
  return first.line < 0 ? place : first;
}

ParseLocation find_place(const ParseInfoTree* tree, std::string_view path) {
  ParseLocation best;
  const protobuf::Descriptor* type = inference::ModelConfig::descriptor();
  while (!path.empty() && tree != nullptr && type != nullptr) {
    Step step = take_step(&path);
    const protobuf::FieldDescriptor* field = type->FindFieldByName(step.name);
    if (field == nullptr) break;
    int index = field->is_repeated() ? step.index : -1;
    auto place = index < 0 ? tree->GetLocation(field, index) : element_place(tree, field, index);
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
