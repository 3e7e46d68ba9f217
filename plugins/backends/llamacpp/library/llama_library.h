/// llama.cpp in this process: opened with the first model, and never closed, because it keeps state for the process.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "backends/llamacpp/library/llama_api.h"

namespace atl::llamacpp {

/// The version of llama.cpp that the headers describe; it promises nothing of others.
inline constexpr std::string_view kLlamaVersion = "0.5.0";

/// Opens the libraries in the first of the folders that has them. A second call gives what the first one has opened.
/// Errors: FAILED_PRECONDITION in one line: there are none, they are for another CPU, or of another version; after a failure the next
/// call tries again. [any]
Result<const LlamaApi*> open_llama(const std::vector<std::string>& folders) noexcept;

/// The folder whose libraries are open; empty: none is.
std::string llama_folder();

/// Where llama.cpp's own messages go from now on. Until then they go to nobody. [control]
void set_llama_log(Log& log) noexcept;
/// Nothing goes there any more. Nothing happens if another one was set since. [control]
void forget_llama_log(Log& log) noexcept;

/// The last warnings and errors that llama.cpp wrote on this thread, in one line, and forgets them: the reason of a failed load.
std::string take_llama_reason();

}  // namespace atl::llamacpp
