/// Reads a recording, entry by entry.
///
///     RecordingReader reader(next_bytes);
///     ATOLL_RETURN_IF_ERROR(reader.begin());
///     for (recording::v1::Entry entry; reader.next(&entry);) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "recording.pb.h"

namespace atl {

/// What a header says of its file.
inline constexpr std::string_view kRecordingFormat = "atoll-recording";
inline constexpr uint32_t kRecordingVersion = 1;
/// Most bytes of one entry. A reader takes a larger size for damage; a writer leaves such an entry out.
inline constexpr uint64_t kRecordingEntryBytesMax = uint64_t{1} << 30;

/// Bytes from anywhere are read safely: what is taken from memory for an entry grows with the bytes that are really
/// there, not with the size that they claim. One thread.
class RecordingReader {
 public:
  /// Fills some of the room with what follows. \returns how many bytes; 0: the end \throws nothing
  /// Errors: UNAVAILABLE it cannot be read further.
  using Source = std::function<Result<size_t>(std::span<char> room)>;

  explicit RecordingReader(Source source) : source_(std::move(source)) {}

  /// Reads the header. Errors: INVALID_ARGUMENT this is not a recording, or one of a newer format; the source's.
  Status begin();
  /// Of begin().
  const recording::v1::Header& header() const noexcept { return header_; }
  /// Reads the next entry. \returns false: there is none, and ending() says why
  bool next(recording::v1::Entry* entry);

  enum class Ending : uint8_t {
    kWhole,    ///< behind the last entry, or nothing has ended yet
    kCut,      ///< within an entry: the file was cut, or is still being written
    kDamaged,  ///< what follows is not an entry
    kFailed    ///< the source failed; see failure()
  };
  Ending ending() const noexcept { return ending_; }
  const Status& failure() const noexcept { return failure_; }
  /// Where the entry that was read last ends, in bytes from the beginning.
  uint64_t read_bytes() const noexcept { return read_bytes_; }

 private:
  bool stop(Ending ending) noexcept {
    ending_ = ending;
    has_ended_ = true;
    return false;
  }
  /// Makes at least so many bytes available from position_ on. \returns false: there are not so many
  bool have(size_t bytes);
  /// \returns the bytes that it takes; 0: stopped
  size_t read_size(uint64_t* size);

  Source source_;
  recording::v1::Header header_;
  std::string bytes_;    ///< read from the source
  size_t position_ = 0;  ///< in them, of the next entry
  uint64_t read_bytes_ = 0;
  bool source_ended_ = false;
  bool has_ended_ = false;
  Ending ending_ = Ending::kWhole;
  Status failure_;
};

/// Reads from a file. \param file  outlives the source
RecordingReader::Source source_of(const FileDescriptor& file);

}  // namespace atl
