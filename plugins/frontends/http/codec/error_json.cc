#include "frontends/http/codec/error_json.h"

#include "frontends/common/json/json_writer.h"

namespace atl::frontends::http {

std::string error_json(std::string_view text) {
  JsonOutput out;
  JsonWriter writer(out);
  writer.StartObject();
  writer.Key("error");
  write_text(writer, text);
  writer.EndObject();
  return std::string(out.text());
}

}  // namespace atl::frontends::http
