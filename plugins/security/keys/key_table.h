/// The calls of one protocol that only clients with a key may make.
///
/// The manifest names groups of calls and, for each group, a key and the value to present with it:
/// "model-repository,logging:admin-key=s3cret". Values are secrets: they are in no message made here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"

namespace atl::keys {

/// Read-only after parse(). [any]
class KeyTable {
 public:
  /// What has to be presented for a category of calls.
  struct Key {
    std::string name;    ///< as the manifest has it; empty: the calls are free
    std::string header;  ///< that carries the value, in lower case
    std::string value;
  };

  /// No call needs a key.
  KeyTable() noexcept = default;

  struct Protocol {
    std::string_view word;         ///< what it calls them in messages: "protocol" or "api"
    std::string_view prefix = {};  ///< of the header's name, before the key
    /// How many of ApiCategory, from the first on, have calls of this protocol.
    uint32_t categories = kApiCategoryCount;
    bool is_metadata = false;  ///< the header is one of gRPC, which does not take all names
  };
  /// \param entries  "<category>,<category>:<key>=<value>" each; the value may hold any character. Categories
  /// that plugins bring need not be there now.
  /// Errors: INVALID_ARGUMENT not of this form, an unknown category, a category named twice, a key that cannot be
  /// the name of metadata.
  static Result<KeyTable> parse(const std::vector<std::string>& entries, const Protocol& protocol) noexcept;

  /// The key for calls of this category; null: they are free. Lives as long as this object.
  const Key* find(ApiCategory category) const noexcept {
    const Key& key = keys_[static_cast<uint32_t>(category)];
    return key.name.empty() ? nullptr : &key;
  }
  /// The same of a category that is a plugin's own.
  const Key* find(std::string_view own_category) const noexcept {
    const auto key = own_keys_.find(own_category);
    return key == own_keys_.end() ? nullptr : &key->second;
  }

 private:
  std::array<Key, kApiCategoryCount> keys_;
  std::map<std::string, Key, std::less<>> own_keys_;
};

/// Whether what was presented is the key's value. \param presented  all that was sent under the header; several
/// are refused even if one of them is right. Takes the same time wherever a wrong value differs.
bool opens(const KeyTable::Key& key, std::span<const std::string_view> presented) noexcept;

}  // namespace atl::keys
