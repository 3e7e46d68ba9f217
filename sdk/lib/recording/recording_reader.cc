#include "atoll/lib/recording_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace atl {
namespace {

/// What is asked of the source at once; also the most that is taken from memory ahead of what has come.
constexpr size_t kStepBytes = size_t{64} * 1024;
/// A size takes at most so many bytes.
constexpr size_t kSizeBytesMax = 10;

}  // namespace

bool RecordingReader::have(size_t bytes) {
  while (bytes_.size() - position_ < bytes && !source_ended_) {
    if (position_ != 0) {
      bytes_.erase(0, position_);
      position_ = 0;
    }
    const size_t before = bytes_.size();
    // A large entry is read in steps that grow with it, so that its bytes are not moved over and over.
    const size_t step = std::max(kStepBytes, std::min(before, bytes - before));
    bytes_.resize(before + step);
    Result<size_t> come = source_(std::span<char>(bytes_.data() + before, step));
    bytes_.resize(before + (come.ok() ? *come : 0));
    if (!come.ok()) failure_ = std::move(come).status();
    source_ended_ = !failure_.ok() || *come == 0;
  }
  return bytes_.size() - position_ >= bytes;
}

size_t RecordingReader::read_size(uint64_t* size) {
  *size = 0;
  for (size_t i = 0; i < kSizeBytesMax; ++i) {
    if (!have(i + 1)) {
      stop(!failure_.ok() ? Ending::kFailed : i == 0 ? Ending::kWhole : Ending::kCut);
      return 0;
    }
    const auto byte = static_cast<uint8_t>(bytes_[position_ + i]);
    *size |= uint64_t{byte & 0x7FU} << (7 * i);
    if (*size > kRecordingEntryBytesMax) break;
    if ((byte & 0x80) == 0) return i + 1;
  }
  stop(Ending::kDamaged);
  return 0;
}

bool RecordingReader::next(recording::v1::Entry* entry) {
  entry->Clear();
  if (has_ended_) return false;
  uint64_t size = 0;
  const size_t head = read_size(&size);
  if (head == 0) return false;
  if (!have(head + size)) return stop(failure_.ok() ? Ending::kCut : Ending::kFailed);
  if (!entry->ParseFromArray(bytes_.data() + position_ + head, static_cast<int>(size))) {
    entry->Clear();
    return stop(Ending::kDamaged);
  }
  position_ += head + size;
  read_bytes_ += head + size;
  return true;
}

Status RecordingReader::begin() {
  recording::v1::Entry entry;
  if (!next(&entry) && ending_ == Ending::kFailed) return std::move(failure_);
  if (entry.header().format() != kRecordingFormat) {
    stop(Ending::kDamaged);
    return invalid_argument("this is not a recording: it does not begin with the header of one");
  }
  header_ = std::move(*entry.mutable_header());
  if (header_.format_version() == 0 || header_.format_version() > kRecordingVersion) {
    stop(Ending::kDamaged);
    return invalid_argument("the recording has format version ", header_.format_version(),
                            ", this program reads up to ", kRecordingVersion);
  }
  return {};
}

RecordingReader::Source source_of(const FileDescriptor& file) {
  return [&file](std::span<char> room) -> Result<size_t> {
    ssize_t size = -1;
    do size = ::read(file.get(), room.data(), room.size());
    while (size < 0 && errno == EINTR);
    if (size < 0) return unavailable("the recording cannot be read: ", std::strerror(errno));
    return static_cast<size_t>(size);
  };
}

}  // namespace atl
