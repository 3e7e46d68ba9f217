#include "launchers/kubernetes/pod_names.h"

#include <openssl/evp.h>

#include <array>
#include <cctype>
#include <span>

#include "atoll/core/text.h"
#include "atoll/lib/hex.h"
#include "atoll/lib/http_request.h"

namespace atl::launchers {
namespace {

constexpr size_t kPoolBytesMax = 40, kLabelBytesMax = 63, kHashBytes = 8;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string server_hash(std::string_view id) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(id.data(), id.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return hex(std::span(digest).first(kHashBytes));
}

std::string pod_name(std::string_view pool, std::string_view id) {
  std::string name;
  for (char c : pool.substr(0, kPoolBytesMax))
    name += is_letter_or_digit(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  return cat("atoll-", name, "-", server_hash(id));
}

std::string label_value(std::string_view text) {
  std::string value;
  for (char c : text.substr(0, kLabelBytesMax))
    value += is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' ? c : '_';
  while (!value.empty() && !is_letter_or_digit(value.back())) value.pop_back();
  size_t odd = 0;
  while (odd < value.size() && !is_letter_or_digit(value[odd])) ++odd;
  return value.substr(odd);
}

std::string keeper_selector(std::string_view keeper) {
  return percent_encode(cat(kManagedByLabel, "=", kManager, ",", kKeeperLabel, "=", keeper));
}

}  // namespace atl::launchers
