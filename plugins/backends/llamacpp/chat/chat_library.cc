#include "backends/llamacpp/chat/chat_library.h"

#include <chat.h>
#include <json-schema-to-grammar.h>
#include <json.h>
#include <llama.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

struct atoll_llamacpp_chat {
  common_chat_templates_ptr templates;
  bool add_bos = false, add_eos = false;
};

namespace {

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

/// Runs `make`, whose text is returned. What it throws is the error.
template <class Make>
char* guarded(char** error, Make&& make) {
  *error = nullptr;
  try {
    return copy_of(make());
  } catch (const std::exception& failure) {
    *error = copy_of(failure.what());
  } catch (...) {
    *error = copy_of("an unknown failure");
  }
  return nullptr;
}

common_json member(const common_json& object, const char* name) {
  return object.contains(name) ? object.at(name) : common_json();
}

bool flag(const common_json& object, const char* name, bool otherwise) {
  const common_json value = member(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

void read_thinking(const common_json& options, common_chat_templates_inputs& inputs) {
  const common_json arguments = member(options, "chat_template_kwargs");
  if (arguments.is_object()) {
    for (const auto& item : arguments.items()) inputs.chat_template_kwargs[item.key()] = item.value().dump();
    inputs.enable_thinking = flag(arguments, "enable_thinking", true);
  }
  const common_json effort = member(options, "reasoning_effort");
  if (!effort.is_string()) return;
  if (effort.get<std::string>() == "none") {
    inputs.enable_thinking = false;
  } else {
    inputs.chat_template_kwargs["reasoning_effort"] = effort.dump();
  }
}

common_chat_templates_inputs inputs_of(const atoll_llamacpp_chat& chat, const common_json& messages,
                                       const common_json& options) {
  common_chat_templates_inputs inputs;
  inputs.messages = common_chat_msgs_parse_oaicompat(messages);
  const common_json tools = member(options, "tools");
  if (tools.is_array()) inputs.tools = common_chat_tools_parse_oaicompat(tools);
  const common_json choice = member(options, "tool_choice");
  if (choice.is_string())
    inputs.tool_choice = common_chat_tool_choice_parse_oaicompat(choice.get<std::string>());
  inputs.parallel_tool_calls = flag(options, "parallel_tool_calls", true);
  inputs.add_generation_prompt = flag(options, "add_generation_prompt", true);
  if (options.contains("continue_final_message"))
    inputs.continue_final_message = common_chat_continuation_parse(options.at("continue_final_message"));
  if (inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE) inputs.add_generation_prompt = false;
  read_thinking(options, inputs);
  inputs.use_jinja = true;
  inputs.add_bos = chat.add_bos;
  inputs.add_eos = chat.add_eos;
  return inputs;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] atoll_llamacpp_chat* atoll_llamacpp_chat_open(const llama_model* model,
                                                                             const char* override_template,
                                                                             char** error) {
  *error = nullptr;
  try {
    auto* chat = new atoll_llamacpp_chat;
    try {
      chat->templates = common_chat_templates_init(model, override_template);
      const llama_vocab* vocabulary = llama_model_get_vocab(model);
      chat->add_bos = llama_vocab_get_add_bos(vocabulary);
      chat->add_eos = llama_vocab_get_add_eos(vocabulary);
    } catch (...) {
      delete chat;
      throw;
    }
    return chat;
  } catch (const std::exception& failure) {
    *error = copy_of(failure.what());
  } catch (...) {
    *error = copy_of("an unknown failure");
  }
  return nullptr;
}

[[gnu::visibility("default")]] void atoll_llamacpp_chat_close(atoll_llamacpp_chat* chat) { delete chat; }

[[gnu::visibility("default")]] char* atoll_llamacpp_chat_render(atoll_llamacpp_chat* chat,
                                                                const char* messages_json,
                                                                const char* options_json, char** error) {
  return guarded(error, [&] {
    const common_json messages = common_json::parse(messages_json);
    const common_json options = common_json::parse(options_json);
    return common_chat_templates_apply(chat->templates.get(), inputs_of(*chat, messages, options)).prompt;
  });
}

[[gnu::visibility("default")]] char* atoll_llamacpp_grammar_of_schema(const char* schema_json, char** error) {
  return guarded(error, [&] { return json_schema_to_grammar(common_json::parse(schema_json)); });
}

[[gnu::visibility("default")]] void atoll_llamacpp_free(char* text) { std::free(text); }

}  // extern "C"
