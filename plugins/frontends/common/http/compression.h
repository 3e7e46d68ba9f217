/// Bodies as clients compress them.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/common/call/body_buffer.h"
#include "frontends/common/call/request_charge.h"

namespace atl::frontends::http {

enum class Encoding : uint32_t { kIdentity, kGzip, kDeflate };

/// "gzip", "deflate"; empty for kIdentity.
std::string_view encoding_name(Encoding encoding) noexcept;

/// Of a Content-Encoding header's value; empty: kIdentity.
/// Errors: UNIMPLEMENTED "Unsupported compression type".
Result<Encoding> content_encoding(std::string_view value) noexcept;

/// The encoding of the reply: of those that Accept-Encoding lists, the one it weighs most, the first of
/// several; kIdentity if it lists none of them. "*" is not understood.
Encoding accepted_encoding(std::string_view value) noexcept;

/// Decompresses a body of one or several gzip members, or one zlib stream, whichever it is.
/// Errors: INVALID_ARGUMENT empty, more than the limit (found out before more than that is written), cut off,
/// wrong checksum, bytes behind the end; RESOURCE_EXHAUSTED no memory; the charge's.
/// \param charge  not null: room for the content is added to it before it is filled
Status decompress(std::span<const uint8_t> body, uint64_t limit_bytes, BodyBuffer* to,
                  RequestCharge* charge = nullptr) noexcept;

/// Compresses the parts, in order, as one body, at zlib's quickest level: tensors shrink little more at
/// others, at several times the cost. Errors: RESOURCE_EXHAUSTED no memory; INTERNAL.
Status compress(Encoding encoding, std::span<const iovec> parts, BodyBuffer* to) noexcept;

}  // namespace atl::frontends::http
