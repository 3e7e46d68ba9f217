/// Requests to one repository in an object store.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"
#include "repositories/s3/store_credentials.h"
#include "repositories/s3/store_url.h"

namespace atl::s3 {

/// Where the bucket's name stands in a URL.
enum class Addressing : uint8_t {
  kAuto,  ///< in the host's name where S3's own store is meant, unless it does not fit there; else in the path
  kPath,        ///< https://host/bucket/key
  kVirtualHost  ///< https://bucket.host/key
};

struct StoreAccess {
  StoreCredentials credentials = {};
  std::string endpoint = {};  ///< of URLs without a host: http://HOST:PORT or https://...; empty: S3's own
  Addressing addressing = Addressing::kAuto;
  std::string ca_file = {};
  int64_t silence_ns = 0;  ///< of a call, after which it is given up
};

/// Immutable. [any]
class ObjectStore {
 public:
  /// \param clock  its wall time is that of signatures
  /// Errors: INVALID_ARGUMENT the endpoint is none.
  static Result<ObjectStore> make(StoreUrl url, StoreAccess access, Clock& clock);

  const StoreUrl& url() const noexcept { return url_; }
  /// What an object's key begins with, and names the store: not two repositories have the same.
  std::string place() const;
  /// A page of the repository's objects. \param next  what the last page gave; empty: the first one
  HttpRequest list_request(const std::string& next) const;
  /// An object's bytes from one on, if it is still the same; the answer tells ETag and Content-Range.
  /// \param path  below the repository's prefix
  HttpRequest object_request(const std::string& path, const std::string& etag, uint64_t from) const;
  /// Why the store did not do as it was asked. \param answer  with an XML body, or another one
  Status refusal(const HttpAnswer& answer) const;

 private:
  ObjectStore(StoreUrl url, StoreAccess access, Clock& clock)
      : url_(std::move(url)), access_(std::move(access)), clock_(&clock) {}
  HttpRequest request(const std::string& path, std::vector<std::pair<std::string, std::string>> query,
                      std::vector<std::pair<std::string, std::string>> headers) const;

  StoreUrl url_;
  StoreAccess access_;
  Clock* clock_;
  std::string host_;
  std::string bucket_path_;  ///< "/" or "/bucket/", encoded
};

/// Whether the same call may go well a moment later.
bool is_transient(int http_status) noexcept;

}  // namespace atl::s3
