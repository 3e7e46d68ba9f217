// Any bytes as a recording. The first byte says how many of them come at a time.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "atoll/lib/recording_reader.h"
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = size_t{data[0]} + 1;
  size_t at = 1;
  atl::RecordingReader reader([&](std::span<char> room) -> atl::Result<size_t> {
    const size_t count = std::min({room.size(), step, size - at});
    std::memcpy(room.data(), data + at, count);
    at += count;
    return count;
  });
  recording::v1::Entry entry;
  const atl::Status begun = reader.begin();
  if (!begun.ok() && begun.message().empty()) std::abort();
  while (reader.next(&entry)) {
    if (!begun.ok()) std::abort();  // nothing is read behind what is no header
  }
  if (reader.read_bytes() > size - 1) std::abort();
  return 0;
}
