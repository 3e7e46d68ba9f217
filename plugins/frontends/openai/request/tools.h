/// The tools that an answer may call.
#pragma once

#include "frontends/openai/request/fields.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

/// One of `tools`: a function with a name.
struct ToolDefinition {
  std::string name;
  std::string parameters;  ///< their JSON schema
};

inline constexpr uint32_t kToolsMax = 128;

/// Whether a function can have the name: 1 to 64 letters, digits, '_', '-' and '.'.
bool is_tool_name(std::string_view name) noexcept;
/// Reads `tools`, `tool_choice` and `parallel_tool_calls` into the request, with the options for its template.
void read_tools(Fields& fields, GenerationRequest& request);
/// What the answer has to follow when it has to call tools: its schema. \param definitions  those that may be called
void require_tools(const std::vector<ToolDefinition>& definitions, ToolUse& tools);

}  // namespace atl::frontends::openai
