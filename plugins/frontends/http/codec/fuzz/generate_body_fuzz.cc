// Any bytes as the body of a generate call to a model with inputs of every datatype.
#include <cstdio>
#include <cstdlib>

#include "frontends/http/codec/testing/codec_oracle.h"
#include "fuzz_target.h"

using namespace atl::frontends::http;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const atl::ModelInfo model = every_type_model();
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const ReadGenerate read(body, model);
  if (const std::string wrong = check_generate(read, model); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
