#include <nlohmann/json.hpp>

#include "server/server_manifest.h"

namespace atl::triton {

Result<std::map<std::string, std::string>> read_flat_json(std::string_view json) {
  const auto object = nlohmann::json::parse(json, nullptr, false);
  std::map<std::string, std::string> values;
  if (!object.is_object()) {
    return invalid_argument("found '", json, "', expected a JSON object of texts, numbers and booleans");
  }
  for (const auto& [name, value] : object.items()) {
    if (value.is_structured() || value.is_null()) {
      return invalid_argument("found ", value.dump(), " as '", name,
                              "', expected a text, a number or a boolean");
    }
    values[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return values;
}

}  // namespace atl::triton
