/// Where a repository in an object store lies, as Triton writes it.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::s3 {

/// "s3://bucket/prefix", "s3://host:port/bucket/prefix" (http), "s3://https://host:port/bucket/prefix".
struct StoreUrl {
  std::string text = {};  ///< as it was written, without slashes at the end
  bool is_tls = true;
  std::string host = {};  ///< with the port if one was written; empty: the store that S3's name stands for
  std::string bucket = {};
  std::string prefix = {};  ///< without slashes at the ends; empty: the whole bucket
};

/// Whether it names a place in an object store at all, of a kind that is served or not. [any]
bool is_store_url(std::string_view path) noexcept;
/// Errors: INVALID_ARGUMENT it is none that is served: "'s3://': found no bucket, expected ...". [any]
Result<StoreUrl> parse_store_url(const std::string& text);

}  // namespace atl::s3
