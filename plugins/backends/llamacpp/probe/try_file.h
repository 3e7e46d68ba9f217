/// Loads a file, and computes a few tokens, in this process, which may not survive it.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "backends/llamacpp/engine/gguf_facts.h"
#include "backends/llamacpp/library/llama_api.h"

namespace atl::llamacpp {

/// Does once what serving does: reads all weights, makes a text into tokens and each token into a text, renders the chat template, computes
/// steps of two sequences.
/// \param adapter  the file of an adapter of this model; empty: none
/// Errors: INVALID_ARGUMENT, in one line, what failed.
Result<GgufFacts> try_file(const LlamaApi& api, const std::string& path, const std::string& adapter = {});

}  // namespace atl::llamacpp
