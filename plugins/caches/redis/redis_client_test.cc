#include "caches/redis/redis_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "atoll/testing/fake_log.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/temporary_directory.h"
#include "caches/redis/testing/fake_redis.h"
#include "caches/redis/testing/redis_server.h"
#include "caches/redis/testing/redis_support.h"

namespace atl::caches {
namespace {

using ::testing::HasSubstr;
using Outcome = RedisClient::Outcome;

class RedisClientTest : public ::testing::Test {
 protected:
  void make(const RedisSettings& settings) {
    client_.emplace(log_, settings);
    const Status started = client_->start();
    ASSERT_TRUE(started.ok()) << started.message();
  }
  void make_ready(const RedisSettings& settings) {
    make(settings);
    await("Redis can be used", [&] { return client_->connections() == settings.connections; });
  }
  std::future<std::pair<Outcome, std::string>> begin_get(const std::string& key, uint64_t hash = 0) {
    auto promise = std::make_shared<std::promise<std::pair<Outcome, std::string>>>();
    client_->get(key, hash, [promise](Outcome outcome, std::string* value) {
      promise->set_value({outcome, outcome == Outcome::kFound ? *value : ""});
    });
    return promise->get_future();
  }
  std::pair<Outcome, std::string> get(const std::string& key, uint64_t hash = 0) {
    return begin_get(key, hash).get();
  }
  double metric(const std::string& line) { return test::RecordedMetrics(*client_).values()[line]; }
  double failures(const char* reason) {
    return metric(cat("atoll_cache_failures_total{reason=", reason, "}"));
  }
  bool is_state(const char* state) {
    return metric(cat("atoll_cache_circuit_breaker_state{state=", state, "}")) == 1;
  }
  /// Until it is open and all is done that goes with it: the client's thread changes the state before it says so and lets go of the
  /// connections.
  void await_open_circuit(const std::function<void()>& try_again = [] {}) {
    await("the circuit breaker opens", [&] {
      try_again();
      return is_state("open");
    });
    std::promise<void> done;
    client_->post([&] { done.set_value(); });
    done.get_future().wait();
  }

  test::RecordingLog log_;
  std::optional<RedisClient> client_;
};

TEST_F(RedisClientTest, WhatWasSetIsGot) {
  RedisServer server;
  make_ready(settings_for(server.port()));
  EXPECT_EQ(get("a").first, Outcome::kMissing);
  std::string value("bytes\r\n\0 of any kind", 20);
  client_->set("a", 0, value);
  EXPECT_EQ(get("a"), std::make_pair(Outcome::kFound, value));
  // Many, all at once, on both connections.
  std::vector<std::future<std::pair<Outcome, std::string>>> gets;
  for (uint64_t i = 0; i < 1000; ++i) {
    client_->set(cat("k", i), i, cat("v", i));
    gets.push_back(begin_get(cat("k", i), i));
  }
  for (uint64_t i = 0; i < gets.size(); ++i) {
    EXPECT_EQ(gets[i].get(), std::make_pair(Outcome::kFound, cat("v", i)));
  }
  EXPECT_EQ(metric("atoll_cache_buffered_bytes"), 0);
  EXPECT_TRUE(is_state("closed"));
}

TEST_F(RedisClientTest, ValuesMayBeAsLargeAsIsAllowed) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  make_ready(settings);
  client_->set("largest", 0, std::string(settings.entry_bytes_max, 'x'));
  EXPECT_EQ(get("largest").second.size(), settings.entry_bytes_max);
  client_->set("larger", 0, std::string(settings.entry_bytes_max + 1, 'x'));
  EXPECT_EQ(get("larger").first, Outcome::kMissing) << "another server may have allowed more";
  EXPECT_EQ(get("largest").first, Outcome::kFound) << "the connection goes on";
}

TEST_F(RedisClientTest, WhatHasNoRoomIsNotStored) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.write_buffer_bytes = 1000;
  make_ready(settings);
  EXPECT_TRUE(client_->has_room(1000));
  EXPECT_FALSE(client_->has_room(1001));
  client_->set("a", 0, std::string(1001, 'x'));
  EXPECT_EQ(get("a").first, Outcome::kMissing);
  EXPECT_EQ(metric("atoll_cache_dropped_total"), 1);
  client_->set("a", 0, std::string(1000, 'x'));
  EXPECT_EQ(get("a").first, Outcome::kFound);
}

TEST_F(RedisClientTest, ValuesAgeWhereTheyHaveATimeToLive) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.ttl_ns = kNsPerMs;
  make_ready(settings);
  client_->set("a", 0, "x");
  await("it has aged", [&] { return get("a").first == Outcome::kMissing; });
}

TEST_F(RedisClientTest, ASlowServerIsNotWaitedForAndThenLeftAlone) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.timeout_ns = 5 * kNsPerMs;
  settings.retry_after_ns = 60 * kNsPerSecond;
  make_ready(settings);
  server.pause();
  for (uint32_t i = 0; i < settings.failure_threshold; ++i) EXPECT_EQ(get("a").first, Outcome::kFailed);
  await_open_circuit();
  EXPECT_FALSE(client_->is_available());
  EXPECT_EQ(failures("timeout"), settings.failure_threshold);
  EXPECT_EQ(get("a").first, Outcome::kFailed) << "at once";
  EXPECT_EQ(failures("unavailable"), 1);
  EXPECT_TRUE(log_.contains("is not used for"));
  server.resume();
}

TEST_F(RedisClientTest, AServerThatRecoversIsUsedAgain) {
  RedisServer server;
  RedisSettings settings = settings_for(server.port());
  settings.timeout_ns = 5 * kNsPerMs;
  make_ready(settings);
  server.pause();
  await("the circuit breaker opens", [&] {
    (void)get("a");
    return !client_->is_available();
  });
  server.resume();
  await("it is used again", [&] {
    client_->set("a", 0, "x");
    return get("a").first == Outcome::kFound;
  });
  EXPECT_TRUE(is_state("closed"));
  EXPECT_TRUE(log_.contains("is used again"));
}

TEST_F(RedisClientTest, AServerThatCrashesAndComesBackIsUsedAgain) {
  RedisServer server;
  make_ready(settings_for(server.port()));
  client_->set("a", 0, "x");
  EXPECT_EQ(get("a").first, Outcome::kFound);
  server.kill();
  await("it is not available", [&] { return !client_->is_available(); });
  EXPECT_EQ(get("a").first, Outcome::kFailed);
  server.start();
  await("it is available", [&] { return client_->is_available(); });
  await("it has forgotten", [&] { return get("a").first == Outcome::kMissing; });
}

TEST_F(RedisClientTest, AServerMayComeLater) {
  int port = 0;
  {
    RedisServer server;
    port = server.port();
  }
  make(settings_for(port));
  await("the circuit breaker opens", [&] { return is_state("open") || is_state("half_open"); });
  EXPECT_FALSE(client_->is_available());
  RedisServer server({}, port);
  await("it is available", [&] { return client_->is_available(); });
}

TEST_F(RedisClientTest, UserAndPasswordAreShown) {
  const test::TemporaryDirectory directory;
  const std::string users = (directory.path() / "users").string();
  std::ofstream(users) << "user default off\nuser atoll on >open ~test:* +ping +select +getrange +set\n";
  RedisServer server({"--aclfile", users});
  RedisSettings settings = settings_for(server.port());
  settings.user = "atoll";
  settings.password = "open";
  settings.database = 3;
  make_ready(settings);
  client_->set("test:a", 0, "x");
  EXPECT_EQ(get("test:a").second, "x") << "these commands are all that it needs";
}

TEST_F(RedisClientTest, AWrongPasswordIsSaidWithoutBeingShown) {
  RedisServer server({"--requirepass", "right"});
  RedisSettings settings = settings_for(server.port());
  settings.password = "secret-and-wrong";
  settings.retry_after_ns = 60 * kNsPerSecond;
  make(settings);
  await_open_circuit();
  EXPECT_TRUE(log_.contains("WRONGPASS"));
  EXPECT_FALSE(log_.contains("secret-and-wrong"));
  EXPECT_EQ(failures("refused"), settings.failure_threshold);
}

TEST_F(RedisClientTest, ErrorsAreMissesAndThenItIsLeftAlone) {
  FakeRedis server([](const FakeRedis::Words&) { return "-LOADING in a moment\r\n"; });
  RedisSettings settings = settings_for(server.port());
  settings.retry_after_ns = 60 * kNsPerSecond;
  make_ready(settings);
  for (uint32_t i = 0; i < settings.failure_threshold; ++i) EXPECT_EQ(get("a").first, Outcome::kFailed);
  await_open_circuit();
  EXPECT_TRUE(log_.contains("LOADING in a moment"));
}

TEST_F(RedisClientTest, WhatIsNotRedisEndsAConnectionAndNothingElse) {
  const std::string endless = "$999999999\r\n" + std::string(4 << 20, 'x');
  for (const std::string& text :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("*100000000\r\n"),
        std::string("$-9\r\n"), endless, std::string("$3\r\nabc\r\n+more\r\n")}) {
    FakeRedis server([&](const FakeRedis::Words&) { return text; });
    RedisSettings settings = settings_for(server.port());
    settings.retry_after_ns = 60 * kNsPerSecond;
    make_ready(settings);
    await_open_circuit([&] { (void)get("a"); });
    EXPECT_EQ(failures("protocol"), 1) << text.substr(0, 20) << ": it is left alone at once";
    client_.reset();
  }
}

TEST_F(RedisClientTest, AServerThatEndsEachConnectionIsLeftAlone) {
  FakeRedis server([](const FakeRedis::Words&) { return std::nullopt; });
  RedisSettings settings = settings_for(server.port());
  settings.retry_after_ns = 60 * kNsPerSecond;
  make_ready(settings);
  await_open_circuit([&] { (void)get("a"); });
  EXPECT_LE(server.connections(), 20);
}

TEST_F(RedisClientTest, ItEndsWhileCommandsAreOnTheirWay) {
  RedisServer server;
  make_ready(settings_for(server.port()));
  server.pause();
  for (int i = 0; i < 100; ++i) client_->set(cat("k", i), 0, std::string(10000, 'x'));
  client_.reset();
  server.resume();
}

/// Certificates of a test's own.
class RedisTlsTest : public RedisClientTest {
 protected:
  RedisTlsTest() {
    run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=atoll-test-ca -keyout ca.key -out ca.crt");
    run("openssl req -newkey rsa:2048 -nodes -subj /CN=redis -keyout server.key -out server.csr");
    run("printf 'subjectAltName=DNS:redis.example,IP:127.0.0.1' > san && openssl x509 -req -in server.csr "
        "-CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out server.crt");
  }
  void run(const std::string& command) {
    EXPECT_EQ(
        std::system(cat("cd ", directory_.path().string(), " && (", command, ") >/dev/null 2>&1").c_str()), 0)
        << command;
  }
  std::string file(const char* name) const { return (directory_.path() / name).string(); }
  std::vector<std::string> server_arguments(const char* authenticates) const {
    return {"--tls-cert-file",    file("server.crt"), "--tls-key-file",     file("server.key"),
            "--tls-ca-cert-file", file("ca.crt"),     "--tls-auth-clients", authenticates};
  }
  RedisSettings tls_settings(int port) const {
    RedisSettings settings = settings_for(port);
    settings.tls.use_tls = true;
    settings.tls.root_cert = file("ca.crt");
    settings.retry_after_ns = 60 * kNsPerSecond;
    return settings;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(RedisTlsTest, ConnectionsAreEncrypted) {
  RedisServer server(server_arguments("yes"), 0, true);
  RedisSettings settings = tls_settings(server.port());
  settings.tls.client_cert = file("server.crt");
  settings.tls.client_key = file("server.key");
  settings.tls.server_name = "redis.example";
  make_ready(settings);
  const std::string large(1 << 20, 'x');
  client_->set("a", 0, large);
  EXPECT_EQ(get("a"), std::make_pair(Outcome::kFound, large));
}

TEST_F(RedisTlsTest, AServerOfAnotherNameOrAuthorityIsRefused) {
  RedisServer server(server_arguments("no"), 0, true);
  RedisSettings other_name = tls_settings(server.port());
  other_name.tls.server_name = "other.example";
  RedisSettings other_authority = tls_settings(server.port());
  other_authority.tls.root_cert.clear();
  for (const RedisSettings& settings : {other_name, other_authority}) {
    make(settings);
    await_open_circuit();
    EXPECT_TRUE(log_.contains("TLS: certificate verify failed"));
    client_.reset();
  }
  make_ready(tls_settings(server.port()));
}

TEST_F(RedisTlsTest, FilesThatCanNotBeUsedAreRefused) {
  const auto message_with = [&](auto&& change) {
    RedisSettings settings = tls_settings(1);
    change(settings.tls);
    RedisClient client(log_, settings);
    return std::string(client.start().message());
  };
  EXPECT_THAT(message_with([](RedisTls& tls) { tls.root_cert = "/none"; }),
              HasSubstr("option 'tls_root_cert': '/none' cannot be used: "));
  EXPECT_THAT(message_with([&](RedisTls& tls) {
                tls.client_cert = file("server.key");
                tls.client_key = file("server.key");
              }),
              HasSubstr("option 'tls_client_cert': "));
  EXPECT_THAT(message_with([&](RedisTls& tls) {
                tls.client_cert = file("server.crt");
                tls.client_key = file("ca.key");
              }),
              HasSubstr("option 'tls_client_key': "));
}

}  // namespace
}  // namespace atl::caches
