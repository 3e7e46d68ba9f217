/// The functions of llama.cpp that this backend calls, found by name in libraries that are opened when the plugin needs them. Nothing
/// here is linked.
#pragma once

#include <llama.h>

#include "backends/llamacpp/chat/chat_library.h"

namespace atl::llamacpp {

// Functions of libllama, or of what it is linked with.
#define ATOLL_LLAMA_FUNCTIONS(f)                                                                             \
  f(llama_version) f(llama_log_set) f(llama_backend_init) f(ggml_backend_load_all_from_path)                 \
      f(ggml_backend_dev_by_type) f(ggml_backend_dev_backend_reg) f(ggml_backend_reg_get_proc_address)       \
          f(ggml_threadpool_params_default) f(llama_model_default_params) f(llama_model_load_from_file) f(   \
              llama_model_free) f(llama_context_default_params) f(llama_init_from_model) f(llama_free)       \
              f(llama_n_ctx) f(llama_n_batch) f(llama_n_seq_max) f(llama_attach_threadpool) f(               \
                  llama_set_embeddings) f(llama_get_memory) f(llama_pooling_type) f(llama_model_get_vocab)   \
                  f(llama_model_n_ctx_train) f(llama_model_n_embd) f(llama_model_n_embd_out) f(              \
                      llama_model_n_layer) f(llama_model_size) f(llama_model_n_params) f(llama_model_desc)   \
                      f(llama_model_meta_val_str) f(llama_model_chat_template) f(llama_model_has_encoder)    \
                          f(llama_model_has_decoder) f(llama_model_is_recurrent) f(llama_model_is_hybrid)    \
                              f(llama_model_is_diffusion) f(llama_model_n_cls_out) f(llama_vocab_type)       \
                                  f(llama_vocab_n_tokens) f(llama_vocab_is_eog) f(llama_vocab_is_control) f( \
                                      llama_vocab_bos) f(llama_vocab_eos) f(llama_vocab_get_add_bos)         \
                                      f(llama_tokenize) f(llama_token_to_piece) f(llama_detokenize) f(       \
                                          llama_memory_clear) f(llama_memory_seq_rm) f(llama_memory_seq_cp)  \
                                          f(llama_decode) f(llama_encode) f(llama_get_logits_ith)            \
                                              f(llama_get_embeddings_seq) f(llama_sampler_init_grammar)      \
                                                  f(llama_sampler_apply) f(llama_sampler_accept)             \
                                                      f(llama_sampler_free) f(llama_model_quantize)          \
                                                          f(llama_adapter_lora_init)                         \
                                                              f(llama_adapter_lora_free)                     \
                                                                  f(llama_set_adapters_lora)                 \
                                                                      f(llama_model_quantize_default_params)

// Functions of the library for chats, which lies beside.
#define ATOLL_LLAMA_CHAT_FUNCTIONS(f)                                                    \
  f(atoll_llamacpp_chat_open) f(atoll_llamacpp_chat_close) f(atoll_llamacpp_chat_render) \
      f(atoll_llamacpp_grammar_of_schema) f(atoll_llamacpp_free)

/// All of them, once the libraries are open.
struct LlamaApi {
#define ATOLL_LLAMA_MEMBER(name) decltype(&::name) name = nullptr;
  ATOLL_LLAMA_FUNCTIONS(ATOLL_LLAMA_MEMBER)
  ATOLL_LLAMA_CHAT_FUNCTIONS(ATOLL_LLAMA_MEMBER)
#undef ATOLL_LLAMA_MEMBER
};

}  // namespace atl::llamacpp
