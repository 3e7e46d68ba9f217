#include "repositories/s3/object_store.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "repositories/s3/listing_page.h"
#include "repositories/s3/request_signer.h"

namespace atl::s3 {
namespace {

constexpr int kPageKeys = 1000;

/// As the header "Host" has it.
std::string without_usual_port(std::string host, bool is_tls) {
  const std::string_view usual = is_tls ? ":443" : ":80";
  if (host.ends_with(usual)) host.erase(host.size() - usual.size());
  return host;
}

/// Whether a certificate for *.host, and a resolver, would take it as a part of a host's name.
bool is_host_part(const std::string& bucket) {
  return std::all_of(bucket.begin(), bucket.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

Result<ObjectStore> ObjectStore::make(StoreUrl url, StoreAccess access, Clock& clock) {
  ObjectStore store(std::move(url), std::move(access), clock);
  bool is_own = store.url_.host.empty();
  std::string host = store.url_.host;
  if (is_own && !store.access_.endpoint.empty()) {
    const Result<StoreUrl> endpoint = parse_store_url(cat("s3://", store.access_.endpoint, "/bucket"));
    if (!endpoint.ok() || endpoint.value().bucket != "bucket") {
      return invalid_argument("AWS_ENDPOINT_URL: found '", store.access_.endpoint,
                              "', expected http://HOST:PORT or https://HOST:PORT");
    }
    is_own = false;
    host = endpoint.value().host;
    store.url_.is_tls = endpoint.value().is_tls;
  }
  if (is_own) host = cat("s3.", store.access_.credentials.region, ".amazonaws.com");
  host = without_usual_port(std::move(host), store.url_.is_tls);
  const bool is_virtual =
      store.access_.addressing == Addressing::kVirtualHost ||
      (store.access_.addressing == Addressing::kAuto && is_own && is_host_part(store.url_.bucket));
  store.host_ = is_virtual ? cat(store.url_.bucket, ".", host) : host;
  store.bucket_path_ = is_virtual ? "/" : encode_path(cat("/", store.url_.bucket, "/"));
  return store;
}

std::string ObjectStore::place() const { return cat(host_, bucket_path_, "\n", url_.prefix); }

HttpRequest ObjectStore::request(const std::string& path, TextPairs query, TextPairs headers) const {
  HttpRequest made;
  made.url =
      cat(url_.is_tls ? "https://" : "http://", host_, path, query.empty() ? "" : "?", encode_query(query));
  made.silence_ns = access_.silence_ns;
  made.ca_file = access_.ca_file;
  made.uses_proxy = true;
  const StoreCredentials& credentials = access_.credentials;
  if (!credentials.key_id.empty()) {
    headers.emplace_back("x-amz-content-sha256", std::string(kEmptyHash));
    made.headers = sign_request({.host = host_, .path = path, .query = std::move(query), .headers = headers},
                                {.key_id = credentials.key_id,
                                 .secret = credentials.secret,
                                 .session_token = credentials.session_token,
                                 .region = credentials.region},
                                signing_time(clock_->wall_ns() / kNsPerSecond));
  }
  for (const auto& [name, value] : headers) made.headers.push_back(cat(name, ": ", value));
  return made;
}

HttpRequest ObjectStore::list_request(const std::string& next) const {
  TextPairs query{{"list-type", "2"}, {"max-keys", cat(kPageKeys)}};
  if (!url_.prefix.empty()) query.emplace_back("prefix", url_.prefix + "/");
  if (!next.empty()) query.emplace_back("continuation-token", next);
  // Of the bucket itself the path has no '/' behind its name.
  const std::string path =
      bucket_path_.size() == 1 ? bucket_path_ : bucket_path_.substr(0, bucket_path_.size() - 1);
  HttpRequest made = request(path, std::move(query), {});
  made.answer_bytes_max = kPageBytesMax;
  return made;
}

HttpRequest ObjectStore::object_request(const std::string& path, const std::string& etag,
                                        uint64_t from) const {
  const std::string key = url_.prefix.empty() ? path : cat(url_.prefix, "/", path);
  TextPairs headers;
  if (!etag.empty()) headers.emplace_back("if-match", etag);
  if (from > 0) headers.emplace_back("range", cat("bytes=", from, "-"));
  HttpRequest made = request(cat(bucket_path_, encode_path(key)), {}, std::move(headers));
  made.answer_headers = {"ETag", "Content-Range"};
  return made;
}

Status ObjectStore::refusal(const HttpAnswer& answer) const {
  const StoreRefusal said = parse_store_refusal(answer.body);
  std::string text = cat("'", url_.text, "': the store answers ", answer.status);
  if (!said.code.empty()) text += cat(" ", said.code);
  if (!said.message.empty()) text += cat(": ", said.message);
  if (!said.region.empty() && said.region != access_.credentials.region) {
    text += cat("; the bucket lies in the region '", said.region, "', and requests were for '",
                access_.credentials.region, "': set AWS_REGION");
  }
  if (access_.credentials.key_id.empty() && (answer.status == 401 || answer.status == 403)) {
    text += "; requests are anonymous, as there are no credentials";
  }
  return unavailable(text);
}

bool is_transient(int http_status) noexcept {
  return http_status >= 500 || http_status == 429 || http_status == 408;
}

}  // namespace atl::s3
