#include "repositories/s3/listing_page.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>
#include <utility>

#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

constexpr size_t kTagBytesMax = 256;
constexpr size_t kTokenBytesMax = 8192;
constexpr size_t kMessageBytesMax = 500;
constexpr size_t kObjectsOfPageMax = 10'000;

/// Entities of a document's own are never expanded; that one declares some is reason enough to refuse it.
bool parse_xml(std::string_view xml, pugi::xml_document& document) {
  const auto parsed = document.load_buffer(
      xml.data(), xml.size(), pugi::parse_default | pugi::parse_doctype | pugi::parse_ws_pcdata_single,
      pugi::encoding_utf8);
  return parsed && std::ranges::none_of(document.children(), [](const pugi::xml_node& node) {
           return node.type() == pugi::node_doctype;
         });
}

/// It becomes a header's value.
bool is_tag(std::string_view text) {
  return text.size() <= kTagBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

Result<StoreObject> parse_object(const pugi::xml_node& node) {
  StoreObject object{.key = node.child_value("Key"),
                     .etag = node.child_value("ETag"),
                     .modified = node.child_value("LastModified")};
  if (object.key.empty() || object.key.size() > kKeyBytesMax) {
    return invalid_argument("found a key of ", object.key.size(), " bytes, expected 1 to ", kKeyBytesMax);
  }
  if (!is_tag(object.etag) || !is_tag(object.modified)) {
    return invalid_argument("found a tag or time of key '", object.key, "' that cannot be one");
  }
  const std::string_view size = node.child_value("Size");
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), object.size);
  if (error != std::errc() || end != size.data() + size.size() || object.size > uint64_t{INT64_MAX}) {
    return invalid_argument("found the size '", size.substr(0, kTagBytesMax), "' of key '", object.key,
                            "', expected a number of bytes");
  }
  return object;
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMessageBytesMax));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

Result<ListingPage> parse_listing_page(std::string_view xml) {
  pugi::xml_document document;
  const bool is_read = parse_xml(xml, document);
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!is_read || !root) return invalid_argument("found no listing in the answer");
  ListingPage page;
  for (const pugi::xml_node& node : root.children("Contents")) {
    if (page.objects.size() >= kObjectsOfPageMax) {
      return invalid_argument("found more than ", kObjectsOfPageMax, " keys in one page");
    }
    Result<StoreObject> object = parse_object(node);
    if (!object.ok()) return std::move(object).status();
    page.objects.push_back(std::move(object).value());
  }
  if (std::string_view(root.child_value("IsTruncated")) != "true") return page;
  page.next = root.child_value("NextContinuationToken");
  if (page.next.empty() || page.next.size() > kTokenBytesMax) {
    return invalid_argument("found a page that is not the last one, and no token for the next");
  }
  return page;
}

StoreRefusal parse_store_refusal(std::string_view xml) {
  pugi::xml_document document;
  if (!parse_xml(xml, document)) return {};
  const pugi::xml_node root = document.child("Error");
  return {.code = printable(root.child_value("Code")),
          .message = printable(root.child_value("Message")),
          .region = printable(root.child_value("Region"))};
}

}  // namespace atl::s3
