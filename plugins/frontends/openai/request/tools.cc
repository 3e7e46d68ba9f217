#include "frontends/openai/request/tools.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/openai/request/body.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kNoParameters = R"({"type":"object"})";

/// As /v1/chat/completions has it. \param function  what describes it
std::string definition_json(const ToolDefinition& tool, const CheckedValue& function) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] {
    write_member(json, "type", "function");
    write_object(json, "function", [&] {
      write_member(json, "name", tool.name);
      if (const std::string_view text = text_member(function, "description"); !text.empty())
        write_member(json, "description", text);
      write_key(json, "parameters");
      json.RawValue(tool.parameters.data(), tool.parameters.size(), rapidjson::kObjectType);
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

std::optional<ToolChoice> read_choice(Fields& fields) {
  const CheckedValue* const choice = fields.find("tool_choice");
  if (choice == nullptr) return std::nullopt;
  const std::string_view word = choice->IsString() ? text_of(*choice) : std::string_view();
  if (word == "none") return ToolChoice{ToolUse::Choice::kNone, {}};
  if (word == "auto") return ToolChoice{ToolUse::Choice::kAuto, {}};
  if (word == "required") return ToolChoice{ToolUse::Choice::kRequired, {}};
  if (choice->IsObject()) {
    // The name stands in `function`, or, in /v1/responses, beside the type.
    const auto function = choice->FindMember("function");
    const bool is_nested = function != choice->MemberEnd() && function->value.IsObject();
    const std::string_view name = text_member(is_nested ? function->value : *choice, "name");
    if (!name.empty()) return ToolChoice{ToolUse::Choice::kNamed, std::string(name)};
  }
  fields.fail(
      wrong_field("tool_choice", "'tool_choice' has to be none, auto, required, or name a function."));
  return std::nullopt;
}

/// What an answer has to follow that has to call tools. \param allowed  those that may be called
std::string schema_of(const std::vector<ToolDefinition>& allowed, const ToolUse& tools) {
  if (tools.choice == ToolUse::Choice::kNamed) return allowed.front().parameters;
  std::string schema = "{\"type\":\"array\",\"minItems\":1,";
  if (!tools.is_parallel) schema += "\"maxItems\":1,";
  schema += "\"items\":{\"anyOf\":[";
  for (const ToolDefinition& tool : allowed) {
    // A name of a tool needs no escapes.
    schema += cat(&tool == allowed.data() ? "" : ",",
                  R"({"type":"object","properties":{"name":{"type":"string","enum":[")", tool.name,
                  R"("]},"parameters":)", tool.parameters, R"(},"required":["name","parameters"]})");
  }
  return schema + "]}}";
}

std::string choice_json(const ToolChoice& choice) {
  if (choice.choice == ToolUse::Choice::kAuto) return "\"auto\"";
  if (choice.choice == ToolUse::Choice::kRequired) return "\"required\"";
  return cat(R"({"type":"function","function":{"name":")", choice.name, "\"}}");
}

}  // namespace

bool is_tool_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::vector<ToolDefinition> read_definitions(Fields& fields, const char* field, const char* schema) {
  const CheckedValue* const list = fields.find("tools");
  std::vector<ToolDefinition> tools;
  const auto refuse = [&](ApiError error) {
    fields.fail(std::move(error));
    return std::vector<ToolDefinition>();
  };
  if (list == nullptr) return tools;
  if (!list->IsArray() || list->Size() > kToolsMax)
    return refuse(wrong_field("tools", cat("'tools' has to be a list of at most ", kToolsMax, " tools.")));
  for (const CheckedValue& one : list->GetArray()) {
    std::string where = cat("tools[", tools.size(), "]");
    const std::string_view type = one.IsObject() ? text_member(one, "type") : std::string_view();
    // An API whose tools are functions unless they say otherwise calls the schema by another name.
    const bool needs_type = std::string_view(schema) == "parameters";
    if (!one.IsObject() || (type.empty() && needs_type))
      return refuse(wrong_field(where + ".type", "A tool has to have the 'type' \"function\"."));
    if (!type.empty() && type != "function" && (needs_type || type != "custom"))
      return refuse(not_served(
          where + ".type", cat("Tools of type '", type.substr(0, 32), "' are not served, only functions.")));
    const bool is_nested = field != nullptr && one.HasMember(field) && one[field].IsObject();
    const CheckedValue& function = is_nested ? one[field] : one;
    if (field != nullptr) where += cat(".", field);
    const std::string_view name =
        field != nullptr && !is_nested ? std::string_view() : text_member(function, "name");
    if (!is_tool_name(name))
      return refuse(wrong_field(where + ".name",
                                "The name of a function has 1 to 64 letters, digits, '_', '-' and '.'."));
    const auto parameters = function.FindMember(schema);
    const bool has_parameters = parameters != function.MemberEnd() && !parameters->value.IsNull();
    if (has_parameters && !parameters->value.IsObject())
      return refuse(wrong_field(cat(where, ".", schema),
                                "The parameters of a function are a JSON schema, which is an object."));
    ToolDefinition tool{
        std::string(name), has_parameters ? json_of(parameters->value) : std::string(kNoParameters), {}};
    tool.json = is_nested ? json_of(one) : definition_json(tool, function);
    tools.push_back(std::move(tool));
  }
  return tools;
}

void use_tools(Fields& fields, const std::vector<ToolDefinition>& definitions,
               const std::optional<ToolChoice>& choice, GenerationRequest& request) {
  ToolUse& tools = request.tools;
  tools.choice = choice                ? choice->choice
                 : definitions.empty() ? ToolUse::Choice::kNone
                                       : ToolUse::Choice::kAuto;
  const bool has_to = tools.choice == ToolUse::Choice::kRequired || tools.choice == ToolUse::Choice::kNamed;
  if (definitions.empty() && has_to)
    return fields.fail(wrong_field("tool_choice", "'tool_choice' needs 'tools' to choose from."));
  if (definitions.empty()) tools.choice = ToolUse::Choice::kNone;
  std::vector<ToolDefinition> allowed = definitions;
  if (tools.choice == ToolUse::Choice::kNamed) {
    std::erase_if(allowed, [&](const ToolDefinition& tool) { return tool.name != choice->name; });
    if (allowed.empty())
      return fields.fail(wrong_field("tool_choice", cat("'tool_choice' names '", choice->name.substr(0, 64),
                                                        "', which is not among 'tools'.")));
  }
  for (const ToolDefinition& tool : allowed) tools.names.push_back(tool.name);
  if (has_to) tools.schema = schema_of(allowed, tools);
  if (!request.has_tools()) return;
  std::string json = "[";
  for (const ToolDefinition& tool : definitions) json += cat(json.size() == 1 ? "" : ",", tool.json);
  request.chat_options.push_back({"tools", json + "]"});
  if (choice) request.chat_options.push_back({"tool_choice", choice_json(*choice)});
}

void read_tools(Fields& fields, GenerationRequest& request, const char* field) {
  request.tools.is_parallel = fields.flag("parallel_tool_calls", true);
  const std::vector<ToolDefinition> definitions = read_definitions(fields, field, "parameters");
  const std::optional<ToolChoice> choice = read_choice(fields);
  if (!fields.failure()) use_tools(fields, definitions, choice, request);
}

}  // namespace atl::frontends::openai
