/// What the manifest says of a Redis server.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/host_port.h"
#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"

namespace atl::caches {

struct RedisTls {
  bool use_tls = false;
  std::string root_cert;    ///< file; empty: what the system trusts
  std::string client_cert;  ///< file; empty: the client shows none
  std::string client_key;   ///< file
  std::string server_name;  ///< that the server's certificate is for
};

struct RedisSettings {
  HostPort address;
  std::string user, password;  ///< empty: none
  int64_t database = 0;
  RedisTls tls;
  uint32_t connections = 4;
  int64_t timeout_ns = 0;          ///< of a look-up
  int64_t connect_timeout_ns = 0;  ///< until a connection can be used
  int64_t ttl_ns = 0;              ///< 0: as long as Redis keeps it
  uint64_t entry_bytes_max = 0;
  uint64_t write_buffer_bytes = 0;
  std::string key_prefix;
  uint32_t failure_threshold = 5;
  int64_t retry_after_ns = 0;

  /// User and password also from TRITONCACHE_REDIS_USERNAME and TRITONCACHE_REDIS_PASSWORD, where the options are
  /// empty. Errors: INVALID_ARGUMENT, naming the option.
  static void check(OptionCheck& check);
  static Result<RedisSettings> read(const Options& options);
};

}  // namespace atl::caches
