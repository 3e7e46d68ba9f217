// Any bytes as the JSON body of an infer call.
#include <cstdio>
#include <cstdlib>

#include "frontends/http/codec/testing/codec_oracle.h"
#include "fuzz_target.h"

using namespace atl::frontends::http;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const ReadBody read(body);
  if (const std::string wrong = check_infer(read, size); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
