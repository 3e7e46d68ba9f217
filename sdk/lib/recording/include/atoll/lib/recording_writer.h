/// How entries of a recording become bytes.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/lib/recording_reader.h"
#include "recording.pb.h"

namespace atl {

/// Adds the entry with its size in front. \returns false: it is larger than a reader takes, and nothing was added
bool append_entry(const recording::v1::Entry& entry, std::string* bytes);
/// The first entry of a file.
recording::v1::Entry header_entry(int64_t began_unix_ns, uint32_t part, bool tensors, bool responses);

}  // namespace atl
