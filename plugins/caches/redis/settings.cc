#include "caches/redis/settings.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "atoll/core/file_check.h"
#include "atoll/core/text.h"

namespace atl::caches {
namespace {

Status read_address(std::string_view text, RedisSettings* settings) {
  std::optional<HostPort> address = HostPort::parse(text);
  if (!address || address->port == 0) {
    return invalid_argument("option 'address' is '", text,
                            "', expected host:port with a port of 1 to 65535, such as 127.0.0.1:6379");
  }
  settings->address = std::move(*address);
  return {};
}

std::string option_or_variable(const Options& options, std::string_view key, const char* variable) {
  const std::string& value = options.get_string(key);
  const char* other = value.empty() ? std::getenv(variable) : nullptr;
  return other == nullptr ? value : other;
}

Status read_tls(const Options& options, RedisSettings* settings) {
  RedisTls& tls = settings->tls;
  tls.use_tls = options.get_bool("tls");
  tls.root_cert = options.get_string("tls_root_cert");
  tls.client_cert = options.get_string("tls_client_cert");
  tls.client_key = options.get_string("tls_client_key");
  tls.server_name = options.get_string("tls_server_name");
  if (!tls.use_tls) {
    for (const char* key : {"tls_root_cert", "tls_client_cert", "tls_client_key", "tls_server_name"}) {
      if (!options.get_string(key).empty())
        return invalid_argument("option '", key, "' is set, and 'tls' is false");
    }
  }
  if (tls.client_cert.empty() != tls.client_key.empty()) {
    return invalid_argument("options 'tls_client_cert' and 'tls_client_key' belong together: one is empty");
  }
  if (tls.server_name.empty()) tls.server_name = settings->address.host;
  return {};
}

}  // namespace

void RedisSettings::check(OptionCheck& check) {
  const Options& options = check.options();
  RedisSettings settings;
  check.passes("address", read_address(options.get_string("address"), &settings));
  check.passes({}, read_tls(options, &settings));
  for (const char* key : {"tls_root_cert", "tls_client_cert", "tls_client_key"}) {
    const std::string& path = options.get_string(key);
    if (!path.empty()) check.passes(key, check_readable_file(path));
  }
  check.whole(read(options));
}

Result<RedisSettings> RedisSettings::read(const Options& options) {
  RedisSettings settings;
  ATOLL_RETURN_IF_ERROR(read_address(options.get_string("address"), &settings));
  ATOLL_RETURN_IF_ERROR(read_tls(options, &settings));
  settings.user = option_or_variable(options, "user", "TRITONCACHE_REDIS_USERNAME");
  settings.password = option_or_variable(options, "password", "TRITONCACHE_REDIS_PASSWORD");
  if (!settings.user.empty() && settings.password.empty()) {
    return invalid_argument("option 'user' is '", settings.user,
                            "' without a password: set 'password' or TRITONCACHE_REDIS_PASSWORD");
  }
  settings.database = options.get_int("database");
  settings.connections = static_cast<uint32_t>(options.get_int("connections"));
  settings.timeout_ns = options.get_duration_ns("timeout");
  settings.connect_timeout_ns = options.get_duration_ns("connect_timeout");
  settings.ttl_ns = options.get_duration_ns("ttl");
  settings.entry_bytes_max = options.get_bytes("max_entry_size");
  settings.write_buffer_bytes = options.get_bytes("write_buffer");
  settings.key_prefix = options.get_string("key_prefix");
  settings.failure_threshold = static_cast<uint32_t>(options.get_int("failure_threshold"));
  settings.retry_after_ns = options.get_duration_ns("retry_after");
  return settings;
}

}  // namespace atl::caches
