// Any bytes as an infer call with the binary extension. The first two bytes, little-endian, are the value of
// Inference-Header-Content-Length: 0 is a raw request, more than the body is refused.
#include <cstdio>
#include <cstdlib>

#include "frontends/http/codec/testing/codec_oracle.h"
#include "fuzz_target.h"

using namespace atl::frontends::http;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data + 2), size - 2);
  const size_t header = data[0] + size_t{256} * data[1];
  std::optional<size_t> json_bytes;
  const atl::Status status = read_json_bytes(atl::cat(header), body.size(), &json_bytes);
  if (status.ok() != (header <= body.size())) std::abort();
  const ReadBody read(body, header);
  if (read.status.ok() && !status.ok()) std::abort();
  if (const std::string wrong = check_infer(read, header); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
