#include "frontends/openai/request/tools.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"

namespace atl::frontends::openai {
namespace {

std::vector<ToolDefinition> read_definitions(Fields& fields) {
  const CheckedValue* const list = fields.find("tools");
  std::vector<ToolDefinition> tools;
  if (list == nullptr) return tools;
  if (!list->IsArray() || list->Size() > kToolsMax) {
    fields.fail(wrong_field("tools", cat("'tools' has to be a list of at most ", kToolsMax, " tools.")));
    return tools;
  }
  for (const CheckedValue& one : list->GetArray()) {
    const std::string where = cat("tools[", tools.size(), "]");
    const auto text = [](const CheckedValue& object, const char* name) {
      return object.IsObject() && object.HasMember(name) && object[name].IsString() ? text_of(object[name])
                                                                                    : std::string_view();
    };
    const std::string_view type = text(one, "type");
    if (type != "function") {
      fields.fail(type.empty() ? wrong_field(where + ".type", "A tool has to have the 'type' \"function\".")
                               : not_served(where + ".type", cat("Tools of type '", type.substr(0, 32),
                                                                 "' are not served, only functions.")));
      return tools;
    }
    const bool has_function = one.HasMember("function") && one["function"].IsObject();
    const std::string_view name = has_function ? text(one["function"], "name") : std::string_view();
    if (!is_tool_name(name)) {
      fields.fail(wrong_field(where + ".function.name",
                              "The name of a function has 1 to 64 letters, digits, '_', '-' and '.'."));
      return tools;
    }
    const auto parameters = one["function"].FindMember("parameters");
    const bool has_parameters = parameters != one["function"].MemberEnd() && !parameters->value.IsNull();
    if (has_parameters && !parameters->value.IsObject()) {
      fields.fail(wrong_field(where + ".function.parameters",
                              "The parameters of a function are a JSON schema, which is an object."));
      return tools;
    }
    tools.push_back(
        {std::string(name), has_parameters ? json_of(parameters->value) : R"({"type":"object"})"});
  }
  return tools;
}

/// The name in {"type":"function","function":{"name":...}}; empty: it has none.
std::string_view named_tool(const CheckedValue& choice) {
  if (!choice.IsObject()) return {};
  const auto function = choice.FindMember("function");
  if (function == choice.MemberEnd() || !function->value.IsObject()) return {};
  const auto name = function->value.FindMember("name");
  return name == function->value.MemberEnd() || !name->value.IsString() ? std::string_view()
                                                                        : text_of(name->value);
}

void read_choice(Fields& fields, std::vector<ToolDefinition> definitions, ToolUse& tools) {
  const CheckedValue* const choice = fields.find("tool_choice");
  tools.choice = definitions.empty() ? ToolUse::Choice::kNone : ToolUse::Choice::kAuto;
  for (const ToolDefinition& tool : definitions) tools.names.push_back(tool.name);
  if (choice == nullptr) return;
  const std::string_view word = choice->IsString() ? text_of(*choice) : std::string_view();
  const std::string_view name = named_tool(*choice);
  if (word == "none") {
    tools.choice = ToolUse::Choice::kNone;
  } else if (word == "auto") {
    return;
  } else if (word != "required" && name.empty()) {
    fields.fail(wrong_field("tool_choice",
                            "'tool_choice' has to be none, auto, required, or "
                            "{\"type\":\"function\",\"function\":{\"name\":...}}."));
  } else if (definitions.empty()) {
    fields.fail(wrong_field("tool_choice", "'tool_choice' needs 'tools' to choose from."));
  } else if (word == "required") {
    tools.choice = ToolUse::Choice::kRequired;
    require_tools(definitions, tools);
  } else {
    std::erase_if(definitions, [&](const ToolDefinition& tool) { return tool.name != name; });
    if (definitions.empty())
      return fields.fail(wrong_field(
          "tool_choice", cat("'tool_choice' names '", name.substr(0, 64), "', which is not among 'tools'.")));
    tools.choice = ToolUse::Choice::kNamed;
    tools.names = {std::string(name)};
    require_tools(definitions, tools);
  }
}

}  // namespace

bool is_tool_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

void require_tools(const std::vector<ToolDefinition>& definitions, ToolUse& tools) {
  if (tools.choice == ToolUse::Choice::kNamed) {
    tools.schema = definitions.front().parameters;
    return;
  }
  tools.schema = "{\"type\":\"array\",\"minItems\":1,";
  if (!tools.is_parallel) tools.schema += "\"maxItems\":1,";
  tools.schema += "\"items\":{\"anyOf\":[";
  for (const ToolDefinition& tool : definitions) {
    // A name of a tool needs no escapes.
    tools.schema += cat(&tool == definitions.data() ? "" : ",",
                        R"({"type":"object","properties":{"name":{"type":"string","enum":[")", tool.name,
                        R"("]},"parameters":)", tool.parameters, R"(},"required":["name","parameters"]})");
  }
  tools.schema += "]}}";
}

void read_tools(Fields& fields, GenerationRequest& request) {
  request.tools.is_parallel = fields.flag("parallel_tool_calls", true);
  std::vector<ToolDefinition> definitions = read_definitions(fields);
  if (fields.failure()) return;
  read_choice(fields, std::move(definitions), request.tools);
  if (!request.has_tools()) return;
  request.chat_options.push_back({"tools", json_of(*fields.find("tools"))});
  if (const CheckedValue* choice = fields.find("tool_choice"); choice != nullptr)
    request.chat_options.push_back({"tool_choice", json_of(*choice)});
}

}  // namespace atl::frontends::openai
