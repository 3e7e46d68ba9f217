#include "security/keys/key_file.h"

#include <openssl/evp.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "security/common/identity_file.h"

namespace atl::keys {
namespace {

constexpr size_t kMostTokenBytes = 512;
constexpr int64_t kMostFileBytes = int64_t{16} << 20;
constexpr size_t kMostTold = 10;

/// Null: OpenSSL has none, and every token is wrong.
const EVP_MD* digest_method() noexcept {
  // Fetched once: a fetch takes longer than the digest. Never freed, as OpenSSL itself may end before this file.
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return method;
}

bool digest_of(std::string_view text, Sha256* digest) noexcept {
  const EVP_MD* const method = digest_method();
  unsigned int bytes = 0;
  return method != nullptr &&
         EVP_Digest(text.data(), text.size(), digest->data(), &bytes, method, nullptr) == 1;
}

}  // namespace

Result<std::shared_ptr<KeySet>> KeySet::parse(std::string_view text) noexcept {
  auto keys = std::make_shared<KeySet>();
  std::string wrong;
  size_t wrong_count = 0;
  std::map<std::string, size_t, std::less<>> without_tenant;  // their lines
  std::set<std::string, std::less<>> tenants;
  const auto refuse = [&](size_t number, const auto&... parts) {
    if (++wrong_count <= kMostTold) wrong += cat(wrong.empty() ? "" : "; ", "line ", number, ": ", parts...);
  };
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
      line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Result<KeyLine> read = parse_key_line(line);
    if (!read.ok()) {
      refuse(number, read.status().message());
      continue;
    }
    std::string id = read->id;
    auto& place = keys->keys_[id];
    if (place != nullptr) {
      refuse(number, "the id '", id, "' comes twice");
    } else {
      if (read->tenant.empty()) {
        without_tenant.emplace(id, number);
      } else {
        tenants.insert(read->tenant);
      }
      place = std::make_unique<KeyIdentity>(std::move(read).value(), *keys);
      keys->by_digest_.emplace(place->digest(), place.get());
    }
  }
  // Who has no tenant is one of its own, and another's things are not to be this one's because of a name.
  for (const auto& [id, number] : without_tenant) {
    if (tenants.contains(id))
      refuse(number, "the id '", id, "' is the name of a tenant, and the key has none: add ';tenant=", id,
             "' or choose another id");
  }
  if (wrong_count > kMostTold) wrong += cat("; and ", wrong_count - kMostTold, " more");
  if (wrong_count > 0) return invalid_argument(wrong);
  return keys;
}

Result<std::shared_ptr<KeySet>> KeySet::read(const std::string& path) noexcept {
  Result<std::string> text =
      security::read_identity_file({path, "file of keys", kMostFileBytes, /*is_private=*/true});
  if (!text.ok()) return std::move(text).status();
  Result<std::shared_ptr<KeySet>> keys = parse(text.value());
  if (!keys.ok()) return invalid_argument("the file of keys '", path, "', ", keys.status().message());
  return keys;
}

bool KeySet::KeyIdentity::holds() const noexcept {
  if (keys_.is_outdated_.load(std::memory_order_acquire)) return false;
  if (!line_.expires_s) return true;
  using std::chrono::system_clock;
  return system_clock::to_time_t(system_clock::now()) < *line_.expires_s;
}

std::string_view id_of_token(std::string_view token) noexcept {
  if (!token.starts_with(kKeyTokenBegin) || token.size() > kMostTokenBytes) return {};
  token.remove_prefix(kKeyTokenBegin.size());
  const size_t end = token.find('_');
  if (end == std::string_view::npos || end + 1 == token.size() || !is_key_id(token.substr(0, end))) return {};
  return token.substr(0, end);
}

std::shared_ptr<const Identity> KeySet::find(const std::shared_ptr<const KeySet>& keys,
                                             std::string_view token) noexcept {
  Sha256 digest;
  if (!digest_of(token, &digest)) return nullptr;
  // By the digest, which nobody can choose: the way to a wrong token's place has nothing to do with its id.
  const auto [first, last] = keys->by_digest_.equal_range(digest);
  for (auto place = first; place != last; ++place) {
    const KeyIdentity& key = *place->second;
    if (key.name() == id_of_token(token))
      return key.holds() ? std::shared_ptr<const Identity>(keys, &key) : nullptr;
  }
  return nullptr;
}

}  // namespace atl::keys
