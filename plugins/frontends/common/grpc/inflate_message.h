/// Compressed messages, opened within the limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "atoll/core/status.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {

/// Where the content goes.
class InflateTarget {
 public:
  /// The next so many bytes of the content, to be filled before it is asked for more. Null: there is no memory.
  virtual uint8_t* add(size_t bytes) = 0;

 protected:
  ~InflateTarget() = default;
};

/// Opens a message of gzip or zlib, whichever it is. Takes at most max_bytes and a piece beside what came.
/// \param is_larger  not null: set to whether the content is larger than max_bytes
/// \param charge     not null: bytes of the content are added to it before they are taken, beside those of what
///                   came
/// \param unused     the bytes of the last piece that were not filled
/// Errors: RESOURCE_EXHAUSTED the content is larger than max_bytes, there is no memory, or the charge was refused;
/// INVALID_ARGUMENT the data is not what it says.
Status inflate_message(std::span<const ByteSpan> from, uint64_t max_bytes, bool* is_larger,
                       RequestCharge* charge, InflateTarget& to, size_t* unused) noexcept;

/// Opens a message for a thread that has others to answer: what opens to more than kLargeBytes is left as it is.
/// \param open  as inflate_message(): Status(uint64_t max_bytes, bool* is_larger) \returns false: it is to be opened
/// elsewhere. Errors: as open().
template <class Open>
Result<bool> open_small_message(Open open, uint64_t max_bytes, RequestCharge* charge) noexcept {
  bool is_larger = false;
  const uint64_t charged = charge == nullptr ? 0 : charge->bytes();
  Status status = open(std::min<uint64_t>(max_bytes, kLargeBytes), &is_larger);
  if (is_larger && charge != nullptr) charge->reduce(charge->bytes() - charged);
  if (is_larger && max_bytes > kLargeBytes) return false;
  ATOLL_RETURN_IF_ERROR(std::move(status));
  return true;
}

}  // namespace atl::frontends
