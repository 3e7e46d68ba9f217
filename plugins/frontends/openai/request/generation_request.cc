#include "frontends/openai/request/generation_request.h"

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {

std::string object_of(const std::vector<PassedField>& fields) {
  std::string json = "{";
  for (const PassedField& field : fields)
    json += cat(json.size() == 1 ? "" : ",", "\"", field.name, "\":", field.json);
  return json + "}";
}

std::string GenerationRequest::sampling_json(uint32_t choice) const {
  std::vector<PassedField> fields = sampling;
  // Wraps around: any number is a seed.
  if (seed) fields.push_back({"seed", cat(static_cast<int64_t>(static_cast<uint64_t>(*seed) + choice))});
  if (max_tokens) fields.push_back({"max_tokens", cat(*max_tokens)});
  if (logprobs) fields.push_back({"logprobs", cat(*logprobs)});
  if (!tools.schema.empty()) fields.push_back({"json_schema", tools.schema});
  if (!stops.empty()) {
    CheckedBuffer buffer;
    CheckedWriter writer(buffer);
    write_array(writer, stops, [&](const std::string& stop) { write_text(writer, stop); });
    fields.push_back({"stop", {buffer.GetString(), buffer.GetSize()}});
  }
  return object_of(fields);
}

}  // namespace atl::frontends::openai
