#include "recorded_traffic.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/recording_reader.h"

namespace atl::replay {

/// What is known while files are read.
struct RecordedTraffic::Index {
  struct Call {
    RecordedCall call;
    uint32_t responses = 0, responses_lost = 0;  ///< as the end says
  };
  std::unordered_map<uint64_t, Call> calls;  ///< by number; may have an end and no request
  int64_t began_unix_ns = 0;
  uint64_t lost_requests = 0;
};

Status RecordedTraffic::open(const std::vector<std::string>& paths) {
  Index index;
  for (const std::string& path : paths) ATOLL_RETURN_IF_ERROR(add_file(path, index));
  finish(index);
  return {};
}

Status RecordedTraffic::add_file(const std::string& path, Index& index) {
  files_.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!files_.back().valid()) return not_found(path, ": ", std::strerror(errno));
  RecordingReader reader(source_of(files_.back()));
  if (Status begun = reader.begin(); !begun.ok()) return invalid_argument(path, ": ", begun.message());
  const recording::v1::Header& header = reader.header();
  if (!header.tensors()) {
    return invalid_argument(
        path,
        ": the recording has no tensors (it was made with tensors = false), so there is nothing to send");
  }
  if (files_.size() == 1) index.began_unix_ns = header.began_unix_ns();
  if (header.began_unix_ns() != index.began_unix_ns)
    return invalid_argument(path, ": this file is of another recording than the first one");
  const auto file = static_cast<uint32_t>(files_.size() - 1);
  uint64_t offset = reader.read_bytes();
  for (recording::v1::Entry entry; reader.next(&entry); offset = reader.read_bytes()) {
    add_entry(entry, {file, static_cast<uint32_t>(reader.read_bytes() - offset), offset}, index);
  }
  switch (reader.ending()) {
    case RecordingReader::Ending::kWhole:
      break;
    case RecordingReader::Ending::kCut:
      remarks_.push_back(
          cat(path, " breaks off behind byte ", reader.read_bytes(), "; what is before is replayed"));
      break;
    case RecordingReader::Ending::kDamaged:
      remarks_.push_back(
          cat(path, " is damaged behind byte ", reader.read_bytes(), "; what is before is replayed"));
      break;
    case RecordingReader::Ending::kFailed:
      return invalid_argument(path, ": ", reader.failure().message());
  }
  return {};
}

void RecordedTraffic::add_entry(const recording::v1::Entry& entry, const EntryPlace& place, Index& index) {
  if (entry.has_request()) {
    const recording::v1::Request& request = entry.request();
    RecordedCall& call = index.calls[request.number()].call;
    call.number = request.number();
    call.arrival_ns = request.arrival_ns();
    call.model = request.model();
    call.stream = request.stream();
    call.request = place;
    if (request.has_sequence())
      call.sequence =
          cat(request.model(), "\n", request.sequence().number(), "\n", request.sequence().text());
  } else if (entry.has_response()) {
    RecordedCall& call = index.calls[entry.response().number()].call;
    call.responses.push_back(place);
    call.failed = call.failed || entry.response().code() != 0;
  } else if (entry.has_end()) {
    const recording::v1::End& end = entry.end();
    Index::Call& known = index.calls[end.number()];
    known.responses = end.responses();
    known.responses_lost = end.responses_lost();
    known.call.has_end = true;
    known.call.cancelled = end.cancelled();
    known.call.ended_after_ns = end.since_ns();
    known.call.failed = known.call.failed || end.code() != 0;
  } else if (entry.has_lost()) {
    index.lost_requests += entry.lost().requests();
  }
}

void RecordedTraffic::finish(Index& index) {
  for (auto& [number, known] : index.calls) {
    if (known.call.request.size == 0) continue;  // its request is in a file that is gone
    known.call.is_complete =
        known.call.has_end && known.responses_lost == 0 && known.call.responses.size() == known.responses;
    calls_.push_back(std::move(known.call));
  }
  std::sort(calls_.begin(), calls_.end(), [](const RecordedCall& a, const RecordedCall& b) {
    return std::pair(a.arrival_ns, a.number) < std::pair(b.arrival_ns, b.number);
  });
  std::unordered_map<uint32_t, RecordedCall*> last_of_stream;
  for (RecordedCall& call : calls_) {
    if (call.stream != 0) last_of_stream[call.stream] = &call;
  }
  for (auto& [stream, call] : last_of_stream) call->ends_stream = true;
  if (index.lost_requests != 0) {
    remarks_.push_back(cat(index.lost_requests,
                           " requests came faster than they could be recorded and are not in the recording"));
  }
}

Result<recording::v1::Entry> RecordedTraffic::read(const EntryPlace& place) const {
  std::string bytes(place.size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size = ::pread(files_[place.file].get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(place.offset + done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0)
      return unavailable("the recording cannot be read any more: ",
                         size < 0 ? std::strerror(errno) : "it is shorter");
    done += static_cast<size_t>(size);
  }
  size_t head = 0;
  while (head < bytes.size() && (bytes[head++] & 0x80) != 0) {
  }
  recording::v1::Entry entry;
  if (!entry.ParseFromArray(bytes.data() + head, static_cast<int>(bytes.size() - head)))
    return unavailable("the recording has been changed meanwhile");
  return entry;
}

}  // namespace atl::replay
