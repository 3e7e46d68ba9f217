#include "security/jwt/base64url.h"

#include <openssl/evp.h>

namespace atl::jwt {

std::optional<std::string> decode_base64url(std::string_view text) {
  constexpr size_t kCharacters = 4, kBytes = 3;  // of one block
  std::string plain;
  plain.reserve(text.size() + kCharacters);
  for (const char c : text) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!is_plain && c != '-' && c != '_') return std::nullopt;
    plain += c == '-' ? '+' : c == '_' ? '/' : c;
  }
  const size_t padding = (kCharacters - plain.size() % kCharacters) % kCharacters;
  if (padding == kBytes) return std::nullopt;  // one character is less than a byte
  plain.append(padding, '=');
  std::string bytes(plain.size() / kCharacters * kBytes, '\0');
  if (!plain.empty() && EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                        reinterpret_cast<const unsigned char*>(plain.data()),
                                        static_cast<int>(plain.size())) < 0)
    return std::nullopt;
  // Padding counts as zeros in what was decoded.
  for (size_t i = 0; i < padding; ++i) {
    if (bytes.empty() || bytes.back() != '\0') return std::nullopt;
    bytes.pop_back();
  }
  if (padding == 0) return bytes;
  // Bits of the last character that belong to no byte.
  std::string again(plain.size() + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(again.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  again.resize(plain.size());
  if (again != plain) return std::nullopt;
  return bytes;
}

}  // namespace atl::jwt
