/// What a store answers to ListObjectsV2, and how it says no.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::s3 {

/// Longest answer to one call for a page; a store gives 1000 keys of at most 1024 bytes.
inline constexpr size_t kPageBytesMax = size_t{16} << 20;
/// Longest key that a store may have.
inline constexpr size_t kKeyBytesMax = 1024;

struct StoreObject {
  std::string key;
  std::string etag;      ///< as the store writes it, mostly in quotes
  std::string modified;  ///< as the store writes it
  uint64_t size = 0;
};

struct ListingPage {
  std::vector<StoreObject> objects;
  std::string next = {};  ///< what the next page is asked for with; empty: this is the last one
};

/// What a store says when it refuses something.
struct StoreRefusal {
  std::string code = {};  ///< "AccessDenied"; empty: it says nothing of the kind
  std::string message = {};
  std::string region = {};  ///< where the bucket lies, if that was the reason
};

/// Reads one page. Entities and document types are refused.
/// Errors: INVALID_ARGUMENT it is no such page, or has keys, sizes or tags that cannot be. [any]
Result<ListingPage> parse_listing_page(std::string_view xml);
/// Whatever of it can be read, with no characters but printable ones. [any]
StoreRefusal parse_store_refusal(std::string_view xml);

}  // namespace atl::s3
