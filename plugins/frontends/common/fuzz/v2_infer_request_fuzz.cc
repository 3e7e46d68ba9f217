// Any bytes as a ModelInferRequest. The first byte says into how many slices the rest is cut.
#include <cstdlib>

#include "frontends/common/testing/codec_test_support.h"
#include "fuzz_target.h"

using atl::frontends::ReadMessage;
using atl::frontends::SlicedBytes;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  atl::test::Random random(data[0]);
  ReadMessage read(bytes, SlicedBytes::random_cuts(bytes.size(), data[0] % 8, random));
  if (!read.ok()) {
    if (read.status().message().empty()) std::abort();
    return 0;
  }
  // Whatever was accepted can be read to its last byte.
  for (const atl::InputTensor& input : read.request.inputs) {
    if (atl::frontends::bytes_of(input).size() != input.size_bytes) std::abort();
  }
  return 0;
}
