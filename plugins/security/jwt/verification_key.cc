#include "security/jwt/verification_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/text.h"
#include "security/jwt/base64url.h"
#include "security/jwt/json_object.h"

namespace atl::jwt {
namespace {

constexpr size_t kKeysMax = 100;
constexpr int kRsaBitsMin = 2048, kRsaBitsMax = 8192;
/// Of a coordinate of P-256, and of a key of Ed25519.
constexpr size_t kCurveBytes = 32;
constexpr size_t kCurveSignatureBytes = 2 * kCurveBytes;

template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* object) const noexcept {
    kFree(object);
  }
};
using Number = std::unique_ptr<BIGNUM, FreeWith<&BN_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeWith<&EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<&EVP_MD_CTX_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, FreeWith<&OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, FreeWith<&OSSL_PARAM_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, FreeWith<&ECDSA_SIG_free>>;

/// What OpenSSL notes of failures in here is nobody else's: the thread may go on with a TLS connection, which takes what it
/// finds noted for its own failure.
class ErrorScope {
 public:
  ErrorScope() noexcept { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// A member that is bytes in base64url.
Result<std::string> bytes_member(const CheckedValue& json, const char* name) {
  const auto text = text_member(json, name);
  std::optional<std::string> bytes = text ? decode_base64url(*text) : std::nullopt;
  if (!bytes || bytes->empty())
    return invalid_argument("'", name, "' has to be bytes in base64url without padding");
  return *std::move(bytes);
}

Number number_of(std::string_view bytes) noexcept {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

/// \returns null: OpenSSL does not take it
EVP_PKEY* make_key(const char* type, OSSL_PARAM_BLD* builder) noexcept {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return key;
}

/// The two numbers of 32 bytes of RFC 7518, section 3.4, in the form that OpenSSL reads.
/// \returns empty: it is none, or a number is zero, which no signer makes
std::string der_of(std::string_view signature) {
  if (signature.size() != kCurveSignatureBytes) return {};
  Number r = number_of(signature.substr(0, kCurveBytes)), s = number_of(signature.substr(kCurveBytes));
  const EcSignature pair(ECDSA_SIG_new());
  if (r == nullptr || s == nullptr || pair == nullptr || BN_is_zero(r.get()) || BN_is_zero(s.get()) ||
      ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1)
    return {};
  (void)r.release();  // they are the pair's now
  (void)s.release();
  const int size = i2d_ECDSA_SIG(pair.get(), nullptr);
  if (size <= 0) return {};
  std::string text(static_cast<size_t>(size), '\0');
  auto* to = reinterpret_cast<unsigned char*>(text.data());
  i2d_ECDSA_SIG(pair.get(), &to);
  return text;
}

/// Whether the key may be used for signatures.
Status check_use(const CheckedValue& json) {
  if (const auto use = text_member(json, "use"); use && *use != "sig")
    return invalid_argument("its 'use' is not 'sig'");
  const auto operations = json.FindMember("key_ops");
  if (operations == json.MemberEnd()) return {};
  const auto is_verify = [](const CheckedValue& one) {
    return one.IsString() && std::string_view(one.GetString(), one.GetStringLength()) == "verify";
  };
  const bool may_verify = operations->value.IsArray() &&
                          std::any_of(operations->value.Begin(), operations->value.End(), is_verify);
  return may_verify ? Status() : invalid_argument("its 'key_ops' have no 'verify'");
}

}  // namespace

std::optional<Algorithm> algorithm_of(std::string_view name) noexcept {
  const auto found = std::find(std::begin(kAlgorithmNames), std::end(kAlgorithmNames), name);
  if (found == std::end(kAlgorithmNames)) return std::nullopt;
  return static_cast<Algorithm>(found - std::begin(kAlgorithmNames));
}

void VerificationKey::Free::operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }

Result<VerificationKey::KeyPointer> VerificationKey::make_rsa(const CheckedValue& json) {
  Result<std::string> modulus = bytes_member(json, "n"), exponent = bytes_member(json, "e");
  if (!modulus.ok()) return std::move(modulus).status();
  if (!exponent.ok()) return std::move(exponent).status();
  const Number n = number_of(*modulus), e = number_of(*exponent);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr) return internal_error("OpenSSL has no memory");
  const int bits = BN_num_bits(n.get());
  if (bits < kRsaBitsMin || bits > kRsaBitsMax)
    return invalid_argument("its modulus has ", bits, " bits, expected ", kRsaBitsMin, " to ", kRsaBitsMax);
  constexpr int kExponentBitsMax = 32;
  if (!BN_is_odd(e.get()) || BN_is_one(e.get()) || BN_num_bits(e.get()) > kExponentBitsMax)
    return invalid_argument("its exponent 'e' is none of RSA");
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  KeyPointer key(make_key("RSA", builder.get()));
  if (key == nullptr) return invalid_argument("it is no RSA key");
  return key;
}

Result<VerificationKey::KeyPointer> VerificationKey::make_p256(const CheckedValue& json) {
  if (text_member(json, "crv") != "P-256") return invalid_argument("its curve 'crv' is not P-256");
  Result<std::string> x = bytes_member(json, "x"), y = bytes_member(json, "y");
  if (!x.ok()) return std::move(x).status();
  if (!y.ok()) return std::move(y).status();
  if (x->size() != kCurveBytes || y->size() != kCurveBytes)
    return invalid_argument("'x' and 'y' have to have ", kCurveBytes, " bytes each");
  const std::string point = cat("\x04", *x, *y);  // not compressed
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr) return internal_error("OpenSSL has no memory");
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  KeyPointer key(make_key("EC", builder.get()));
  if (key == nullptr) return invalid_argument("'x' and 'y' are no point of P-256");
  const KeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
  if (context == nullptr || EVP_PKEY_public_check(context.get()) != 1)
    return invalid_argument("'x' and 'y' are no point of P-256");
  return key;
}

Result<VerificationKey::KeyPointer> VerificationKey::make_ed25519(const CheckedValue& json) {
  if (text_member(json, "crv") != "Ed25519") return invalid_argument("its curve 'crv' is not Ed25519");
  Result<std::string> x = bytes_member(json, "x");
  if (!x.ok()) return std::move(x).status();
  if (x->size() != kCurveBytes) return invalid_argument("'x' has to have ", kCurveBytes, " bytes");
  KeyPointer key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(*x), x->size()));
  if (key == nullptr) return invalid_argument("'x' is no key of Ed25519");
  return key;
}

Result<VerificationKey> VerificationKey::parse(const CheckedValue& json) {
  const ErrorScope scope;
  if (!json.IsObject()) return invalid_argument("it is no JSON object");
  ATOLL_RETURN_IF_ERROR(check_use(json));
  VerificationKey key;
  key.id_ = text_member(json, "kid").value_or("");
  key.type_ = text_member(json, "kty").value_or("");
  if (const auto name = text_member(json, "alg")) {
    key.only_ = algorithm_of(*name);
    if (!key.only_) return invalid_argument("its 'alg' is none of RS256, PS256, ES256 and EdDSA");
  }
  if (key.type_ == "oct") return invalid_argument("it is a shared secret: only public keys are used");
  if (json.HasMember("d"))
    return invalid_argument("it is a private key: the file has to have public keys only");
  Result<KeyPointer> made = key.type_ == "RSA"   ? make_rsa(json)
                            : key.type_ == "EC"  ? make_p256(json)
                            : key.type_ == "OKP" ? make_ed25519(json)
                                                 : invalid_argument("its 'kty' is none of RSA, EC and OKP");
  if (!made.ok()) return std::move(made).status();
  key.key_ = std::move(made).value();
  if (key.only_ && !key.fits(*key.only_)) return invalid_argument("its 'alg' does not fit its 'kty'");
  return key;
}

bool VerificationKey::fits(Algorithm algorithm) const noexcept {
  if (only_ && *only_ != algorithm) return false;
  switch (algorithm) {
    case Algorithm::kRs256:
    case Algorithm::kPs256:
      return type_ == "RSA";
    case Algorithm::kEs256:
      return type_ == "EC";
    case Algorithm::kEdDsa:
      return type_ == "OKP";
  }
  return false;
}

bool VerificationKey::verify(Algorithm algorithm, std::string_view text,
                             std::string_view signature) const noexcept {
  const ErrorScope scope;
  const bool is_ed25519 = algorithm == Algorithm::kEdDsa;
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;
  if (context == nullptr || EVP_DigestVerifyInit(context.get(), &options, is_ed25519 ? nullptr : EVP_sha256(),
                                                 nullptr, key_.get()) != 1)
    return false;
  std::string der;
  if (algorithm == Algorithm::kEs256) {
    der = der_of(signature);
    if (der.empty()) return false;
    signature = der;
  }
  if (algorithm == Algorithm::kPs256 &&
      (EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) != 1 ||
       EVP_PKEY_CTX_set_rsa_mgf1_md(options, EVP_sha256()) != 1))
    return false;
  return EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                          text.size()) == 1;
}

Result<VerificationKeySet> parse_key_set(std::string_view text) {
  if (text.size() > kKeySetBytesMax)
    return invalid_argument("the key set has ", text.size(), " bytes, expected at most ", kKeySetBytesMax);
  CheckedDocument document;
  if (!parse_object(text, document)) return invalid_argument("the key set is no JSON object");
  const auto list = document.FindMember("keys");
  if (list == document.MemberEnd() || !list->value.IsArray())
    return invalid_argument("the key set has no list 'keys'");
  if (list->value.Size() > kKeysMax)
    return invalid_argument("the key set has ", list->value.Size(), " keys, expected at most ", kKeysMax);
  VerificationKeySet set;
  for (rapidjson::SizeType i = 0; i < list->value.Size(); ++i) {
    Result<VerificationKey> key = VerificationKey::parse(list->value[i]);
    if (key.ok()) {
      const std::string& id = key->id();
      const auto is_same = [&](const VerificationKey& other) { return !id.empty() && other.id() == id; };
      if (std::any_of(set.keys.begin(), set.keys.end(), is_same))
        set.unused.push_back(
            cat("key ", i, " has the 'kid' of a key before it: tokens that name it may be signed by either"));
      set.keys.push_back(std::move(key).value());
    } else {
      set.unused.push_back(cat("key ", i, " is not used: ", key.status().message()));
    }
  }
  if (!set.keys.empty()) return set;
  return invalid_argument("the key set has no key that can be used",
                          set.unused.empty() ? std::string() : cat(": ", set.unused.front()));
}

}  // namespace atl::jwt
