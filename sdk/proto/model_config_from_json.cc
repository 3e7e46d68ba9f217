#include <google/protobuf/util/json_util.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "atoll/proto/model_config_json.h"
#include "model_config.pb.h"

namespace atl::proto {

namespace {

/// Looks for members that come twice, of which protobuf's parser silently takes the last.
class MemberCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& twice() const { return twice_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    members_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (members_.back().insert(name).second) return true;
    twice_ = name;
    return false;
  }
  bool end_object() override {
    members_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  // What is no JSON is protobuf's to explain.
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> members_;  ///< of the objects that are open
  std::string twice_;
};

}  // namespace

Result<std::string> model_config_from_json(std::string_view json) {
  if (json.size() > kConfigJsonBytesMax) {
    return invalid_argument("the JSON text has ", json.size(), " bytes, expected at most ",
                            kConfigJsonBytesMax);
  }
  MemberCheck check;
  nlohmann::json::sax_parse(json, &check);
  if (!check.twice().empty()) {
    return invalid_argument("the JSON object has the member '", check.twice(), "' twice, expected once");
  }
  google::protobuf::util::JsonParseOptions options;
  options.case_insensitive_enum_parsing = true;
  inference::ModelConfig config;
  auto parsed = google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &config, options);
  if (!parsed.ok()) {
    std::string_view reason(parsed.message().data(), parsed.message().size());
    return invalid_argument(reason);
  }
  return config.SerializeAsString();
}

}  // namespace atl::proto
