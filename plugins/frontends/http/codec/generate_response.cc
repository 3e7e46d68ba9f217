#include <algorithm>

#include "frontends/common/json/json_writer.h"
#include "frontends/http/codec/generate.h"
#include "frontends/http/codec/tensor_json.h"

namespace atl::frontends::http {
namespace {

/// A member of the object: an output, a parameter or a text.
struct Member {
  std::string_view name;
  const OutputTensor* output = nullptr;
  const Parameter* parameter = nullptr;
  std::string_view text;
};

}  // namespace

Status write_generate_response(const ModelInfo& model, const Request& request, Response& response,
                               JsonOutput& out) noexcept {
  auto* members =
      response.arena().make_array<Member>(response.outputs.size() + response.parameters.size() + 3);
  size_t count = 0;
  for (const OutputTensor& output : response.outputs) members[count++] = {output.name, &output, nullptr, {}};
  for (const Parameter& parameter : response.parameters) {
    if (parameter.type != ParameterType::kBytes) members[count++] = {parameter.key, nullptr, &parameter, {}};
  }
  if (!request.id.empty()) members[count++] = {"id", nullptr, nullptr, request.id};
  members[count++] = {"model_name", nullptr, nullptr, model.name};
  members[count++] = {"model_version", nullptr, nullptr, model.version_text};
  // Of members that share a name the first counts: an output before a parameter before what is always there.
  std::stable_sort(members, members + count,
                   [](const Member& a, const Member& b) { return a.name < b.name; });
  Member* end = std::unique(members, members + count,
                            [](const Member& a, const Member& b) { return a.name == b.name; });

  JsonWriter writer(out);
  writer.StartObject();
  for (const Member* member = members; member != end; ++member) {
    write_text(writer, member->name);
    if (member->output != nullptr) {
      ATOLL_RETURN_IF_ERROR(write_elements(*member->output, Brackets::kUnlessSingle, writer, out));
    } else if (member->parameter != nullptr) {
      write_value(*member->parameter, writer);
    } else {
      write_text(writer, member->text);
    }
  }
  writer.EndObject();
  if (!out.failed()) return {};
  return make_status(Code::kResourceExhausted, "no memory for the JSON of the response of model '",
                     model.name, "'");
}

}  // namespace atl::frontends::http
