/// Keys and tokens for tests, made by OpenSSL.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"

namespace atl::jwt {

inline std::string encode_base64url(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

/// A key pair, whose public half is written as a JSON web key.
class TokenSigner {
 public:
  enum class Kind { kRsa, kRsaSmall, kP256, kEd25519 };

  explicit TokenSigner(Kind kind) : kind_(kind) {
    EVP_PKEY* key = kind == Kind::kRsa        ? EVP_RSA_gen(2048)
                    : kind == Kind::kRsaSmall ? EVP_RSA_gen(1024)
                    : kind == Kind::kP256     ? EVP_EC_gen("P-256")
                                              : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    key_.reset(key);
  }

  /// "kty" and what belongs to it; `more` is members with a comma before each.
  std::string jwk(const std::string& more = {}) const {
    if (kind_ == Kind::kP256) {
      return cat(R"({"kty":"EC","crv":"P-256","x":")", number(OSSL_PKEY_PARAM_EC_PUB_X, 32), R"(","y":")",
                 number(OSSL_PKEY_PARAM_EC_PUB_Y, 32), "\"", more, "}");
    }
    if (kind_ == Kind::kEd25519) {
      std::string x(32, '\0');
      size_t size = x.size();
      EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(x.data()), &size);
      return cat(R"({"kty":"OKP","crv":"Ed25519","x":")", encode_base64url(x), "\"", more, "}");
    }
    return cat(R"({"kty":"RSA","n":")", number(OSSL_PKEY_PARAM_RSA_N, 0), R"(","e":")",
               number(OSSL_PKEY_PARAM_RSA_E, 0), "\"", more, "}");
  }

  /// \param pss  with RSA: PS256 in place of RS256
  std::string signature(std::string_view text, bool pss = false) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    EVP_PKEY_CTX* options = nullptr;
    EVP_DigestSignInit(context.get(), &options, kind_ == Kind::kEd25519 ? nullptr : EVP_sha256(), nullptr,
                       key_.get());
    if (pss) {
      EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string bytes(1024, '\0');
    size_t size = bytes.size();
    const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size, data, text.size());
    bytes.resize(size);
    return kind_ == Kind::kP256 ? raw_of(bytes) : bytes;
  }

  /// A token in its compact form. \param algorithm  written into the head; PS256 is also what is done
  std::string token(const std::string& algorithm, const std::string& claims,
                    const std::string& more_head = {}) const {
    const std::string text =
        cat(encode_base64url(cat(R"({"alg":")", algorithm, R"(","typ":"JWT")", more_head, "}")), ".",
            encode_base64url(claims));
    return cat(text, ".", encode_base64url(signature(text, algorithm == "PS256")));
  }

 private:
  std::string number(const char* name, int bytes) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    std::string text(static_cast<size_t>(bytes == 0 ? BN_num_bytes(value) : bytes), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(text.data()), static_cast<int>(text.size()));
    BN_free(value);
    return encode_base64url(text);
  }
  static std::string raw_of(const std::string& der) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* const pair = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
    std::string raw(64, '\0');
    auto* const to = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), to, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), to + 32, 32);
    ECDSA_SIG_free(pair);
    return raw;
  }

  struct Free {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  };
  const Kind kind_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

inline std::string key_set(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += cat(text.empty() ? "" : ",", key);
  return cat(R"({"keys":[)", text, "]}");
}

}  // namespace atl::jwt
