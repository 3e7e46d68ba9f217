#include "frontends/openai/answer/answers.h"

#include <google/protobuf/stubs/strutil.h>

#include <charconv>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {
namespace {

template <class Write>
std::string json_object(Write&& write) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] { write(json); });
  return {buffer.GetString(), buffer.GetSize()};
}

/// The shortest digits that give the same float again.
void write_float(CheckedWriter& json, float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  json.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kNumberType);
}

/// Of the little-endian bytes of the floats.
std::string base64_of(std::span<const float> values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::string text;
  google::protobuf::Base64Escape(bytes, &text);
  return text;
}

void write_model(CheckedWriter& json, const ListedModel& model) {
  write_member(json, "id", model.id);
  write_member(json, "object", "model");
  write_member(json, "created", model.created_s);
  write_member(json, "owned_by", "atoll");
}

}  // namespace

std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> embeddings,
                            bool is_base64, uint64_t tokens) {
  return json_object([&](CheckedWriter& json) {
    write_member(json, "object", "list");
    uint32_t index = 0;
    write_array(json, "data", embeddings, [&](const std::vector<float>& embedding) {
      write_object(json, [&] {
        write_member(json, "object", "embedding");
        write_member(json, "index", index++);
        if (is_base64) return write_member(json, "embedding", base64_of(embedding));
        write_array(json, "embedding", embedding, [&](float value) { write_float(json, value); });
      });
    });
    write_member(json, "model", model);
    write_object(json, "usage", [&] {
      write_member(json, "prompt_tokens", tokens);
      write_member(json, "total_tokens", tokens);
    });
  });
}

std::string model_json(const ListedModel& model) {
  return json_object([&](CheckedWriter& json) { write_model(json, model); });
}

std::string models_json(std::span<const ListedModel> models) {
  return json_object([&](CheckedWriter& json) {
    write_member(json, "object", "list");
    write_array(json, "data", models,
                [&](const ListedModel& model) { write_object(json, [&] { write_model(json, model); }); });
  });
}

}  // namespace atl::frontends::openai
