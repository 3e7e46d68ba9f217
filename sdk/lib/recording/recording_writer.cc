#include "atoll/lib/recording_writer.h"

namespace atl {

bool append_entry(const recording::v1::Entry& entry, std::string* bytes) {
  const size_t size = entry.ByteSizeLong();
  if (size > kRecordingEntryBytesMax) return false;
  uint64_t left = size;
  for (; left >= 0x80; left >>= 7) bytes->push_back(static_cast<char>(left | 0x80));
  bytes->push_back(static_cast<char>(left));
  return entry.AppendToString(bytes);
}

recording::v1::Entry header_entry(int64_t began_unix_ns, uint32_t part, bool tensors, bool responses) {
  recording::v1::Entry entry;
  recording::v1::Header& header = *entry.mutable_header();
  header.set_format(std::string(kRecordingFormat));
  header.set_format_version(kRecordingVersion);
  header.set_began_unix_ns(began_unix_ns);
  header.set_part(part);
  header.set_tensors(tensors);
  header.set_responses(responses);
  return entry;
}

}  // namespace atl
