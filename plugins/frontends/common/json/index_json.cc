#include "frontends/common/json/index_json.h"

#include "frontends/common/json/json_text.h"

namespace atl::frontends {

std::string index_json(const inference::RepositoryIndexResponse& index) {
  return json_text([&](JsonWriter& writer) {
    write_array(writer, index.models(), [&](const auto& model) {
      writer.StartObject();
      write_member(writer, "name", model.name());
      if (!model.version().empty()) write_member(writer, "version", model.version());
      if (!model.state().empty()) write_member(writer, "state", model.state());
      if (!model.reason().empty()) write_member(writer, "reason", model.reason());
      writer.EndObject();
    });
  });
}

}  // namespace atl::frontends
