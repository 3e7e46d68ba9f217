/// What a recording holds, by request: where its parts are in the files, so that of large recordings only the requests that are
/// under way are in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "recording.pb.h"

namespace atl::replay {

/// An entry's place in one of the files.
struct EntryPlace {
  uint32_t file = 0;
  uint32_t size = 0;
  uint64_t offset = 0;
};

/// One request, and what is known of it without reading its tensors.
struct RecordedCall {
  uint64_t number = 0;
  int64_t arrival_ns = 0;  ///< since the recording began
  std::string model;
  std::string sequence;      ///< of which model and sequence it is; empty: of none
  uint32_t stream = 0;       ///< 0: of none
  bool ends_stream = false;  ///< nothing follows on the stream
  EntryPlace request;
  std::vector<EntryPlace> responses;
  bool has_end = false;
  bool failed = false;       ///< was refused, or a response is a failure
  bool is_complete = false;  ///< all of its responses are in the recording
  bool cancelled = false;
  int64_t ended_after_ns = 0;
};

/// The files of one recording, in any order. Reads from several threads are allowed once it is open.
class RecordedTraffic {
 public:
  /// Errors: NOT_FOUND there is no such file, or it cannot be read; INVALID_ARGUMENT it is not a recording, or not a part of the
  /// same one as the others, or has no tensors.
  Status open(const std::vector<std::string>& paths);
  /// By arrival.
  const std::vector<RecordedCall>& calls() const noexcept { return calls_; }
  /// What a person should know: files that were cut, requests that were not recorded. A line each.
  const std::vector<std::string>& remarks() const noexcept { return remarks_; }
  /// Errors: UNAVAILABLE the file cannot be read any more.
  Result<recording::v1::Entry> read(const EntryPlace& place) const;

 private:
  struct Index;
  Status add_file(const std::string& path, Index& index);
  void add_entry(const recording::v1::Entry& entry, const EntryPlace& place, Index& index);
  void finish(Index& index);

  std::vector<FileDescriptor> files_;
  std::vector<RecordedCall> calls_;
  std::vector<std::string> remarks_;
};

}  // namespace atl::replay
