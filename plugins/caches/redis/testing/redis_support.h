/// What the tests of caches/redis share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "caches/redis/settings.h"

namespace atl::caches {

/// Of a server on the loopback, with time limits that a slow machine keeps.
inline RedisSettings settings_for(int port) {
  RedisSettings settings;
  settings.address.host = settings.tls.server_name = "127.0.0.1";
  settings.address.port = static_cast<uint16_t>(port);
  settings.connections = 2;
  settings.timeout_ns = 10 * kNsPerSecond;
  settings.connect_timeout_ns = 10 * kNsPerSecond;
  settings.entry_bytes_max = 1 << 20;
  settings.write_buffer_bytes = 8 << 20;
  settings.key_prefix = "test:";
  settings.failure_threshold = 3;
  settings.retry_after_ns = kNsPerMs;
  return settings;
}

/// Fails the test if it does not come true.
template <class Condition>
void await(const char* what, Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool is_true = false;
  while (!(is_true = condition()) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(is_true) << what;
}

}  // namespace atl::caches
