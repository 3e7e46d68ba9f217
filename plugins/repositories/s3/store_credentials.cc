#include "repositories/s3/store_credentials.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"

namespace atl::s3 {
namespace {

constexpr const char* kFileVariable = "TRITON_CLOUD_CREDENTIAL_PATH";

std::string first_of(const CredentialSource::Variables& variables, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = variables(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

/// Empty: there is none.
std::string text_of(const CheckedValue& object, const char* name) {
  const auto member = object.FindMember(name);
  if (member == object.MemberEnd() || !member->value.IsString()) return {};
  return std::string(member->value.GetString(), member->value.GetStringLength());
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kCredentialsBytesMax + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    return file ? invalid_argument(path, ": found more than ", kCredentialsBytesMax,
                                   " bytes, expected credentials")
                : invalid_argument(path, ": ", std::strerror(errno));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

/// A key or token ends up in a header, so it has no line of its own.
bool is_printable(const std::string& text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace

Result<CredentialSource> CredentialSource::read(const Variables& variables) {
  CredentialSource source;
  source.environment_ = {.key_id = first_of(variables, {"AWS_ACCESS_KEY_ID"}),
                         .secret = first_of(variables, {"AWS_SECRET_ACCESS_KEY"}),
                         .session_token = first_of(variables, {"AWS_SESSION_TOKEN"}),
                         .region = first_of(variables, {"AWS_REGION", "AWS_DEFAULT_REGION"})};
  if (source.environment_.region.empty()) source.environment_.region = "us-east-1";
  if (source.environment_.secret.empty()) source.environment_.key_id.clear();
  source.endpoint_ = first_of(variables, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  const std::string path = first_of(variables, {kFileVariable});
  if (path.empty()) return source;
  Result<std::string> text = read_text(path);
  if (!text.ok()) return invalid_argument(kFileVariable, ": ", text.status().message());
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(text->data(),
                                                                                         text->size());
  if (document.HasParseError() || !document.IsObject()) {
    return invalid_argument(kFileVariable, ": ", path, ": found no JSON object");
  }
  const auto stores = document.FindMember("s3");
  if (stores == document.MemberEnd()) return source;
  if (!stores->value.IsObject()) return invalid_argument(kFileVariable, ": ", path, ": 's3' is no object");
  for (const auto& entry : stores->value.GetObject()) {
    const std::string prefix(entry.name.GetString(), entry.name.GetStringLength());
    if (!entry.value.IsObject()) {
      return invalid_argument(kFileVariable, ": ", path, ": 's3' has '", prefix, "', which is no object");
    }
    source.by_prefix_[prefix] = {.key_id = text_of(entry.value, "key_id"),
                                 .secret = text_of(entry.value, "secret_key"),
                                 .session_token = text_of(entry.value, "session_token"),
                                 .region = text_of(entry.value, "region")};
  }
  for (const auto& [prefix, found] : source.by_prefix_) {
    if (is_printable(cat(found.key_id, found.session_token, found.region))) continue;
    return invalid_argument(kFileVariable, ": ", path, ": the credentials of '", prefix,
                            "' have characters that cannot stand in a header");
  }
  return source;
}

StoreCredentials CredentialSource::of(const std::string& url) const {
  const StoreCredentials* found = nullptr;
  size_t longest = 0;
  for (const auto& [prefix, credentials] : by_prefix_) {
    if (!url.starts_with(prefix) || (found != nullptr && prefix.size() < longest)) continue;
    found = &credentials;
    longest = prefix.size();
  }
  if (found == nullptr) return environment_;
  StoreCredentials credentials = *found;
  if (credentials.region.empty()) credentials.region = environment_.region;
  if (credentials.key_id.empty() || credentials.secret.empty()) {
    const std::string region = credentials.region;
    credentials = environment_;
    credentials.region = region;
  }
  return credentials;
}

}  // namespace atl::s3
