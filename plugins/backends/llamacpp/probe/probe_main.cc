/// atoll-llamacpp-probe: loads a GGUF file and computes a few tokens, so that a file that ends llama.cpp ends this program and not the
/// server.
///
///     atoll-llamacpp-probe ENGINE_FOLDER FILE [MEMORY_BYTES CPU_SECONDS [ADAPTER]]     prints a line of JSON: what the file says of its
///         model, which is tried with the adapter
///     atoll-llamacpp-probe ENGINE_FOLDER --quantize TYPE FROM TO             writes a file with smaller weights; TYPE: Q4_0, Q8_0
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "backends/llamacpp/library/llama_library.h"
#include "backends/llamacpp/probe/try_file.h"

namespace atl::llamacpp {
namespace {

int fail(std::string_view reason) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(reason.size()), reason.data());
  return 1;
}

/// \param text  a number, checked by who starts this program
void limit(__rlimit_resource which, const char* text) {
  const rlim_t most = std::strtoull(text, nullptr, 10);
  if (most == 0) return;
  const rlimit to{most, most};
  ::setrlimit(which, &to);
}

void set_limits(const char* memory_bytes, const char* cpu_seconds) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_AS, memory_bytes);  // sanitizers need terabytes of addresses
#else
  (void)memory_bytes;
#endif
  limit(RLIMIT_CPU, cpu_seconds);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

int quantize(const LlamaApi& api, std::string_view type, const char* from, const char* to) {
  llama_model_quantize_params params = api.llama_model_quantize_default_params();
  if (type == "Q4_0") {
    params.ftype = LLAMA_FTYPE_MOSTLY_Q4_0;
  } else if (type == "Q8_0") {
    params.ftype = LLAMA_FTYPE_MOSTLY_Q8_0;
  } else {
    return fail("the type of weights is Q4_0 or Q8_0");
  }
  params.allow_requantize = true;
  params.nthread = 1;
  if (api.llama_model_quantize(from, to, &params) == 0) return 0;
  const std::string reason = take_llama_reason();
  return fail(reason.empty() ? "llama.cpp could not write the file" : reason);
}

int run(int count, char** words) {
  const bool quantizes = count == 6 && std::string_view(words[2]) == "--quantize";
  if (count != 3 && count != 5 && count != 6) return fail("usage: atoll-llamacpp-probe ENGINE_FOLDER FILE");
  if (count >= 5 && !quantizes) set_limits(words[3], words[4]);
  // The server has gone: nobody wants to know.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Result<const LlamaApi*> api = open_llama({words[1]});
  if (!api.ok()) return fail(api.status().message());
  if (quantizes) return quantize(**api, words[3], words[4], words[5]);
  Result<GgufFacts> facts = try_file(**api, words[2], count == 6 ? words[5] : "");
  if (!facts.ok()) return fail(facts.status().message());
  std::printf("%s\n", facts_json(*facts).c_str());
  std::fflush(stdout);
  // Nothing is freed: the process's end does it.
  std::_Exit(0);
}

}  // namespace
}  // namespace atl::llamacpp

int main(int count, char** words) {
  try {
    return atl::llamacpp::run(count, words);
  } catch (const std::exception& error) {
    return atl::llamacpp::fail(error.what());
  }
}
