#include "security/jwt/token_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/hmac.h>

#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "security/jwt/base64url.h"
#include "security/jwt/testing/token_maker.h"

namespace atl::jwt {
namespace {

using testing::HasSubstr;
using Kind = TokenSigner::Kind;

/// What a FakeClock shows at first.
constexpr int64_t kNow = 1'000'000'001;

/// Made once: keys take long.
const TokenSigner& rsa() {
  static const TokenSigner signer(Kind::kRsa);
  return signer;
}
const TokenSigner& p256() {
  static const TokenSigner signer(Kind::kP256);
  return signer;
}
const TokenSigner& ed25519() {
  static const TokenSigner signer(Kind::kEd25519);
  return signer;
}

std::string claims(const std::string& more = {}, const std::string& expires = std::to_string(kNow + 600)) {
  return cat(R"({"iss":"https://issuer","aud":["other","atoll"],"sub":"ann","exp":)", expires, more, "}");
}

VerifierSettings settings() {
  VerifierSettings all;
  all.claims.issuers = {"https://issuer"};
  all.claims.audiences = {"atoll"};
  all.claims.granting = {{"scope", "infer"}, {"groups", "ml team"}, {"scp", "admin"}};
  all.algorithms = {Algorithm::kRs256, Algorithm::kPs256, Algorithm::kEs256, Algorithm::kEdDsa};
  return all;
}

class TokenVerifierTest : public testing::Test {
 protected:
  TokenVerifierTest() {
    trust({rsa().jwk(R"(,"kid":"r")"), p256().jwk(R"(,"kid":"p","use":"sig")"),
           ed25519().jwk(R"(,"kid":"e","key_ops":["verify"])")});
  }
  void trust(const std::vector<std::string>& keys) {
    Result<VerificationKeySet> set = parse_key_set(key_set(keys));
    ASSERT_TRUE(set.ok()) << set.status().text();
    verifier.set_keys(std::move(set->keys));
  }
  /// "OK", or why not.
  std::string verdict(const std::string& token) {
    auto verified = verifier.verify(token);
    EXPECT_EQ(ERR_peek_error(), 0u) << "noted for nobody";
    return verified.ok() ? "OK" : std::string(verified.status().message());
  }

  test::FakeClock clock;
  TokenVerifier verifier{settings(), clock};
};

TEST_F(TokenVerifierTest, EachAlgorithmIsVerified) {
  EXPECT_EQ(verdict(rsa().token("RS256", claims(), R"(,"kid":"r")")), "OK");
  EXPECT_EQ(verdict(rsa().token("PS256", claims(), R"(,"kid":"r")")), "OK");
  EXPECT_EQ(verdict(p256().token("ES256", claims(), R"(,"kid":"p")")), "OK");
  EXPECT_EQ(verdict(ed25519().token("EdDSA", claims(), R"(,"kid":"e")")), "OK");
  EXPECT_EQ(verdict(p256().token("ES256", claims())), "OK") << "without a name all that fit are tried";
}

TEST_F(TokenVerifierTest, ATokenSaysWhoAndWhat) {
  auto token = verifier.verify(p256().token(
      "ES256", claims(R"(,"scope":"read infer","groups":["x","ml team"],"scp":"administrator")")));
  ASSERT_TRUE(token.ok());
  EXPECT_EQ((*token)->claims.name, "ann");
  EXPECT_EQ((*token)->claims.tenant, "ann");
  EXPECT_EQ((*token)->claims.granted, (std::vector<size_t>{0, 1}));
  EXPECT_EQ((*token)->claims.expires_s, kNow + 660);
}

TEST_F(TokenVerifierTest, NoSignatureAndSharedSecretsAreRefused) {
  const std::string text = encode_base64url(R"({"alg":"none"})") + "." + encode_base64url(claims());
  EXPECT_THAT(verdict(text + "."), HasSubstr("algorithm"));
  EXPECT_THAT(verdict(rsa().token("none", claims())), HasSubstr("algorithm"));
  EXPECT_THAT(verdict(rsa().token("nOnE", claims())), HasSubstr("algorithm"));
  EXPECT_THAT(verdict(rsa().token("rs256", claims())), HasSubstr("algorithm"));
  // The public key, which everybody has, as the secret of an HMAC.
  const std::string hs = encode_base64url(R"({"alg":"HS256","kid":"r"})") + "." + encode_base64url(claims());
  const std::string secret = rsa().jwk();
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(hs.data()), hs.size(), mac, &size);
  EXPECT_THAT(verdict(hs + "." + encode_base64url({reinterpret_cast<char*>(mac), size})),
              HasSubstr("algorithm"));
}

TEST_F(TokenVerifierTest, TheKeyDecidesOfWhatKindTheSignatureIs) {
  EXPECT_THAT(verdict(p256().token("RS256", claims(), R"(,"kid":"p")")), HasSubstr("no key"));
  EXPECT_THAT(verdict(p256().token("ES256", claims(), R"(,"kid":"r")")), HasSubstr("no key"));
  EXPECT_THAT(verdict(rsa().token("RS256", claims(), R"(,"kid":"../../dev/null")")), HasSubstr("no key"));
  EXPECT_THAT(verdict(rsa().token("RS256", claims(), R"(,"kid":["r"])")), HasSubstr("'kid'"));
  trust({rsa().jwk(R"(,"alg":"PS256")")});
  EXPECT_THAT(verdict(rsa().token("RS256", claims())), HasSubstr("no key"));
  EXPECT_EQ(verdict(rsa().token("PS256", claims())), "OK");
}

TEST_F(TokenVerifierTest, KeysThatTheTokenBringsAreNotLookedAt) {
  const TokenSigner stranger(Kind::kP256);
  const std::string own_key =
      cat(R"(,"jwk":)", stranger.jwk(), R"(,"jku":"https://evil","x5u":"x","x5c":["x"])");
  EXPECT_THAT(verdict(stranger.token("ES256", claims(), own_key)), HasSubstr("no key"));
  EXPECT_EQ(verdict(p256().token("ES256", claims(), own_key)), "OK");
}

TEST_F(TokenVerifierTest, ExtensionsThatHaveToBeUnderstoodAreRefused) {
  EXPECT_THAT(verdict(p256().token("ES256", claims(), R"(,"crit":["b64"],"b64":false)")),
              HasSubstr("'crit'"));
  EXPECT_THAT(verdict(p256().token("ES256", claims(), R"(,"zip":"DEF")")), HasSubstr("'zip'"));
}

TEST_F(TokenVerifierTest, SignaturesOfZerosAndOtherSizesAreRefused) {
  const std::string text =
      encode_base64url(R"({"alg":"ES256","kid":"p"})") + "." + encode_base64url(claims());
  for (const size_t size : {0, 1, 63, 64, 65, 72, 128})
    EXPECT_THAT(verdict(cat(text, ".", encode_base64url(std::string(size, '\0')))), HasSubstr("no key"))
        << size;
  std::string half = p256().signature(text);
  half.replace(0, 32, 32, '\0');
  EXPECT_THAT(verdict(cat(text, ".", encode_base64url(half))), HasSubstr("no key"));
  EXPECT_EQ(verdict(cat(text, ".", encode_base64url(p256().signature(text)))), "OK");
  EXPECT_THAT(verdict(cat(text, ".", encode_base64url(p256().signature(text) + '\0'))), HasSubstr("no key"));
}

TEST_F(TokenVerifierTest, EveryChangedByteIsNoticed) {
  const std::string token = ed25519().token("EdDSA", claims());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(verdict(changed), "OK") << i;
    EXPECT_NE(verdict(token.substr(0, i)), "OK") << i;
  }
}

TEST_F(TokenVerifierTest, MembersThatComeTwiceAreRefused) {
  EXPECT_THAT(verdict(p256().token("ES256", claims(), R"(,"alg":"none")")), HasSubstr("header"));
  EXPECT_THAT(verdict(p256().token("ES256", claims(R"(,"sub":"root")"))), HasSubstr("claims"));
}

TEST_F(TokenVerifierTest, FormsThatAreNoneAreRefused) {
  const std::string token = p256().token("ES256", claims());
  for (const std::string& wrong :
       {std::string(), std::string("."), std::string(".."), std::string("..."), token + ".", "." + token,
        token + "=", token + " ", " " + token, token.substr(0, token.rfind('.')), token + "\n",
        std::string("a.b.c"), "e30." + token.substr(token.find('.') + 1)})
    EXPECT_NE(verdict(wrong), "OK") << wrong;
  EXPECT_THAT(verdict(p256().token("ES256", claims(cat(",\"x\":\"", std::string(9000, 'x'), "\"")))),
              HasSubstr("larger"));
  const std::string deep = cat(std::string(2000, '['), std::string(2000, ']'));
  EXPECT_EQ(verdict(p256().token("ES256", claims(cat(",\"x\":", deep)))), "OK") << "no stack is used up";
  EXPECT_NE(verdict(p256().token("ES256", "[1]")), "OK");
  EXPECT_NE(verdict(p256().token("ES256", "{\"iss\":\"\xff\"}")), "OK");
}

TEST_F(TokenVerifierTest, WhatAClaimHasToBe) {
  const auto of = [&](const std::string& json) { return verdict(p256().token("ES256", json)); };
  const std::string expires = cat(R"("exp":)", kNow + 600);
  EXPECT_THAT(of(cat(R"({"iss":"https://issuer/","aud":"atoll","sub":"a",)", expires, "}")),
              HasSubstr("'iss'"));
  EXPECT_THAT(of(cat(R"({"aud":"atoll","sub":"a",)", expires, "}")), HasSubstr("'iss'"));
  EXPECT_THAT(of(cat(R"({"iss":["https://issuer"],"aud":"atoll","sub":"a",)", expires, "}")),
              HasSubstr("'iss'"));
  EXPECT_THAT(of(cat(R"({"iss":"https://issuer","aud":"Atoll","sub":"a",)", expires, "}")),
              HasSubstr("'aud'"));
  EXPECT_THAT(of(cat(R"({"iss":"https://issuer","aud":{"atoll":1},"sub":"a",)", expires, "}")),
              HasSubstr("'aud'"));
  EXPECT_THAT(of(cat(R"({"iss":"https://issuer","sub":"a",)", expires, "}")), HasSubstr("'aud'"));
  EXPECT_EQ(of(cat(R"({"iss":"https://issuer","aud":"atoll","sub":"a",)", expires, "}")), "OK");
  EXPECT_THAT(of(R"({"iss":"https://issuer","aud":"atoll","sub":"a"})"), HasSubstr("no 'exp'"));
  for (const std::string& name : {std::string("\"\""), std::string("5"), std::string(R"("a\nb")"),
                                  cat("\"", std::string(257, 'a'), "\"")})
    EXPECT_THAT(of(cat(R"({"iss":"https://issuer","aud":"atoll","sub":)", name, ",", expires, "}")),
                HasSubstr("'sub'"));
}

TEST_F(TokenVerifierTest, TimesHoldWithinTheSkew) {
  const auto of = [&](const std::string& expires, const std::string& more = {}) {
    return verdict(p256().token("ES256", claims(more, expires)));
  };
  EXPECT_EQ(of(std::to_string(kNow - 59)), "OK");
  EXPECT_THAT(of(std::to_string(kNow - 60)), HasSubstr("expired"));
  EXPECT_EQ(of(cat(kNow, ".75")), "OK") << "a fraction";
  EXPECT_EQ(of("1e300"), "OK");
  EXPECT_THAT(of("-1e300"), HasSubstr("expired"));
  EXPECT_THAT(of(cat("\"", kNow + 600, "\"")), HasSubstr("'exp'"));
  EXPECT_THAT(of("null"), HasSubstr("'exp'"));
  EXPECT_EQ(of(std::to_string(kNow + 600), cat(",\"nbf\":", kNow + 60)), "OK");
  EXPECT_THAT(of(std::to_string(kNow + 600), cat(",\"nbf\":", kNow + 61)), HasSubstr("yet"));
  EXPECT_THAT(of(std::to_string(kNow + 600), R"(,"nbf":"now")"), HasSubstr("'nbf'"));
}

TEST_F(TokenVerifierTest, WhatWasVerifiedHoldsUntilItExpires) {
  const std::string token = p256().token("ES256", claims());
  auto first = verifier.verify(token), again = verifier.verify(token);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->get(), again->get()) << "remembered";
  clock.advance(660 * kNsPerSecond);
  EXPECT_FALSE((*first)->holds(verifier.now_s()));
  EXPECT_THAT(verdict(token), HasSubstr("expired"));
}

TEST_F(TokenVerifierTest, ARotatedKeyEndsWhatItHasSigned) {
  const std::string token = p256().token("ES256", claims());
  auto first = verifier.verify(token);
  ASSERT_TRUE(first.ok());
  const TokenSigner next(Kind::kP256);
  trust({p256().jwk(R"(,"kid":"p")"), next.jwk(R"(,"kid":"n")")});
  EXPECT_FALSE((*first)->holds(verifier.now_s())) << "it is verified anew";
  EXPECT_EQ(verdict(token), "OK") << "the old key is kept for the tokens that it has signed";
  EXPECT_EQ(verdict(next.token("ES256", claims())), "OK");
  trust({next.jwk(R"(,"kid":"n")")});
  EXPECT_THAT(verdict(token), HasSubstr("no key"));
}

TEST_F(TokenVerifierTest, FewTokensAreRemembered) {
  VerifierSettings few = settings();
  few.remembered_max = 2;
  TokenVerifier small(few, clock);
  small.set_keys(std::move(parse_key_set(key_set({p256().jwk()}))->keys));
  std::vector<std::string> tokens;
  std::vector<std::shared_ptr<const VerifiedToken>> first;
  for (int i = 0; i < 3; ++i) {
    tokens.push_back(p256().token("ES256", claims(cat(",\"jti\":", i))));
    auto known = small.verify(tokens.back());
    first.push_back(std::move(known).value());
  }
  EXPECT_EQ(small.verify(tokens[2])->get(), first[2].get());
  EXPECT_EQ(small.verify(tokens[1])->get(), first[1].get());
  EXPECT_NE(small.verify(tokens[0])->get(), first[0].get())
      << "the one that was not used for the longest time went";
}

TEST_F(TokenVerifierTest, ManyThreadsVerifyWhileKeysChange) {
  const std::string token = p256().token("ES256", claims());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(verifier.verify(token).ok());
    });
  }
  for (int i = 0; i < 50; ++i) trust({p256().jwk(R"(,"kid":"p")")});
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TokenVerifierTest, TokensOfOtherIssuersAreNotMine) {
  EXPECT_TRUE(verifier.is_mine(p256().token("ES256", claims())));
  EXPECT_FALSE(verifier.is_mine(p256().token("ES256", R"({"iss":"https://other"})")));
  for (const char* other : {"", "abc", "a.b.c", "atk_me_012345"})
    EXPECT_FALSE(verifier.is_mine(other)) << other;
}

TEST(KeySets, WhatIsNoKeyIsTold) {
  const auto why = [](const std::string& key) {
    Result<VerificationKeySet> set = parse_key_set(key_set({key}));
    return set.ok() ? std::string("OK") : std::string(set.status().message());
  };
  EXPECT_EQ(why(rsa().jwk()), "OK");
  EXPECT_THAT(why(TokenSigner(Kind::kRsaSmall).jwk()), HasSubstr("1024 bits"));
  EXPECT_THAT(why(rsa().jwk(R"(,"use":"enc")")), HasSubstr("'use'"));
  EXPECT_THAT(why(rsa().jwk(R"(,"key_ops":["sign"])")), HasSubstr("'key_ops'"));
  EXPECT_THAT(why(rsa().jwk(R"(,"alg":"HS256")")), HasSubstr("'alg'"));
  EXPECT_THAT(why(rsa().jwk(R"(,"alg":"ES256")")), HasSubstr("does not fit"));
  EXPECT_THAT(why(rsa().jwk(R"(,"d":"AQAB")")), HasSubstr("private"));
  EXPECT_THAT(why(R"({"kty":"oct","k":"c2VjcmV0"})"), HasSubstr("shared secret"));
  EXPECT_THAT(why(R"({"kty":"RSA","n":"!!","e":"AQAB"})"), HasSubstr("'n'"));
  EXPECT_THAT(why(R"({"kty":"EC","crv":"P-384"})"), HasSubstr("P-256"));
  const std::string zeros = encode_base64url(std::string(32, '\0'));
  EXPECT_THAT(why(cat(R"({"kty":"EC","crv":"P-256","x":")", zeros, R"(","y":")", zeros, "\"}")),
              HasSubstr("no point"));
  EXPECT_THAT(why(R"({"kty":"OKP","crv":"X25519"})"), HasSubstr("Ed25519"));
  EXPECT_THAT(why(R"({"kty":"OKP","crv":"Ed25519","x":"AA"})"), HasSubstr("32 bytes"));
  EXPECT_THAT(why("5"), HasSubstr("no JSON object"));
  EXPECT_EQ(parse_key_set("[]").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(parse_key_set("{}").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(parse_key_set(R"({"keys":[]})").status().code(), Code::kInvalidArgument);
  Result<VerificationKeySet> mixed = parse_key_set(key_set({R"({"kty":"oct","k":"eA"})", p256().jwk()}));
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->keys.size(), 1u);
  EXPECT_THAT(mixed->unused, testing::ElementsAre(HasSubstr("key 0 is not used: it is a shared secret")));
}

TEST_F(TokenVerifierTest, AKidThatComesTwiceIsTold) {
  const std::string named = R"(,"kid":"p")";
  Result<VerificationKeySet> twice =
      parse_key_set(key_set({p256().jwk(named), rsa().jwk(R"(,"kid":"r")"), ed25519().jwk(named)}));
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(twice->keys.size(), 3u);
  EXPECT_THAT(twice->unused, testing::ElementsAre(HasSubstr("key 2 has the 'kid' of a key before it")));
  Result<VerificationKeySet> without = parse_key_set(key_set({p256().jwk(), ed25519().jwk()}));
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(without->unused.empty()) << "no name is no name twice";
}

TEST(Base64Url, HasOneTextForEachBytes) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
                                   std::string("\xff\xfe\xfd\xfc"), std::string(1000, '\0')})
    EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
  EXPECT_EQ(decode_base64url("-_8"), "\xfb\xff");
  for (const char* wrong : {"a", "YQ==", "YR", "YWJ", "YW J", "YW+j", "YW/j", "YQ\n", "\xff\xff"})
    EXPECT_EQ(decode_base64url(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace atl::jwt
