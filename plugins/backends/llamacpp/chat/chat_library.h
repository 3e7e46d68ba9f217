/// What the library beside the engine offers: chat templates and grammars of llama.cpp's `common` part, whose own interface is C++
/// and changes with each version, as plain C. The library is linked with the engine; the plugin opens it.
///
/// Functions return a text that atoll_llamacpp_free() frees, or null, and then `*error` is such a text. None throws. Texts are UTF-8.
#pragma once

struct llama_model;
/// The chat templates of one model.
struct atoll_llamacpp_chat;

extern "C" {

/// \param override_template  Jinja instead of the file's own template; empty: the file's
atoll_llamacpp_chat* atoll_llamacpp_chat_open(const llama_model* model, const char* override_template,
                                              char** error);
void atoll_llamacpp_chat_close(atoll_llamacpp_chat* chat);

/// The prompt that the template makes. One call at a time for one `chat`.
/// \param messages_json  an array of messages as OpenAI's chat API has them
/// \param options_json  an object with any of tools, tool_choice, parallel_tool_calls, add_generation_prompt,
/// continue_final_message, chat_template_kwargs, reasoning_effort
char* atoll_llamacpp_chat_render(atoll_llamacpp_chat* chat, const char* messages_json,
                                 const char* options_json, char** error);

/// A grammar in GBNF that allows what the JSON schema allows.
char* atoll_llamacpp_grammar_of_schema(const char* schema_json, char** error);

void atoll_llamacpp_free(char* text);

}  // extern "C"
