/// The tools that an answer may call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/request/fields.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// A function with a name.
struct ToolDefinition {
  std::string name;
  std::string parameters;  ///< their JSON schema
  std::string json;        ///< all of it, as /v1/chat/completions has it
};
/// Which of them an answer has to call. Nothing: the client has not said.
struct ToolChoice {
  ToolUse::Choice choice = ToolUse::Choice::kAuto;
  std::string name;  ///< of kNamed
};

inline constexpr uint32_t kToolsMax = 128;

/// Whether a function can have the name: 1 to 64 letters, digits, '_', '-' and '.'.
bool is_tool_name(std::string_view name) noexcept;
/// Reads `tools`, `tool_choice` and `parallel_tool_calls` into the request.
/// \param field  as in read_definitions()
void read_tools(Fields& fields, GenerationRequest& request, const char* field = "function");

/// The list in `tools`. \param field  of each the one that describes it: "function", or null: the tool itself
/// \param schema  the name of its parameters
std::vector<ToolDefinition> read_definitions(Fields& fields, const char* field, const char* schema);
/// Lets the answer call these, with what its template is told of them.
void use_tools(Fields& fields, const std::vector<ToolDefinition>& definitions,
               const std::optional<ToolChoice>& choice, GenerationRequest& request);

}  // namespace atl::frontends::openai
