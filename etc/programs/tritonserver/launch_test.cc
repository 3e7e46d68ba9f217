#include "launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/launcher_fixture.h"

namespace atl::tritonserver {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

/// What a server without flags is given.
std::vector<std::string> defaults(const LauncherFixture& fixture) {
  return {"log.level=\"info\"",
          "plugin.cuda.use=\"backends/cuda\"",
          "plugin.gpus.use=\"memory/cuda\"",
          "plugin.grpc.address=\"127.0.0.1:8001\"",
          "plugin.grpc.enabled=true",
          "plugin.grpc.open_after_startup=true",
          "plugin.http.address=\"127.0.0.1:8000\"",
          "plugin.http.enabled=true",
          "plugin.http.open_after_startup=true",
          "plugin.metrics.address=\"127.0.0.1:8002\"",
          "plugin.metrics.enabled=true",
          "plugin.metrics.open_after_startup=true",
          "plugin.pinned.use=\"memory/pinned\"",
          "plugin.python.environment=[\"*\"]",
          "plugin.pytorch.use=\"backends/pytorch\"",
          "plugin.repository.follow_links=true",
          "plugin.repository.paths=[\"" + fixture.repository() + "\"]"};
}

/// The settings that are not the defaults.
std::vector<std::string> beyond_defaults(const LauncherFixture& fixture, const Launch& launch) {
  std::vector<std::string> out;
  auto usual = defaults(fixture);
  for (const std::string& setting : launch.settings) {
    if (std::find(usual.begin(), usual.end(), setting) == usual.end()) out.push_back(setting);
  }
  return out;
}

TEST(Launch, StartsTheAtollBesideItWithItsManifest) {
  LauncherFixture fixture;
  EXPECT_EQ(fixture.serve({}).settings, defaults(fixture));
  EXPECT_THAT(fixture.program,
              ElementsAre(fixture.at("bin/atoll"), "--manifest", fixture.at("etc/atoll/atoll.toml")));
}

TEST(Launch, MayBeStricterThanTriton) {
  LauncherFixture fixture;
  auto expected = defaults(fixture);
  std::erase(expected, "plugin.python.environment=[\"*\"]");
  std::erase(expected, "plugin.repository.follow_links=true");
  EXPECT_EQ(fixture.serve({"--follow-links=false", "--pass-environment=false"}).settings, expected);
}

TEST(Launch, PortsOpenAfterTheStartOrEarlyIfThatIsAskedFor) {
  LauncherFixture fixture;
  EXPECT_THAT(fixture.serve({"--allow-metrics=0"}).settings, Not(Contains(HasSubstr("metrics.open"))));
  EXPECT_THAT(fixture.serve({"--open-early"}).settings, Not(Contains(HasSubstr("open_after_startup"))));
}

using Texts = std::vector<std::string>;
struct MappedCase {
  Texts flags;
  Texts settings;
};
const MappedCase kMapped[] = {
    {{"--id=a \"b\""}, {R"(plugin.grpc.server_name="a \"b\"")", R"(plugin.http.server_name="a \"b\"")"}},
    {{"--exit-timeout-secs=-4"}, {"atoll.drain_timeout=\"0s\""}},
    {{"--exit-timeout-secs=5x"}, {"atoll.drain_timeout=\"5s\""}},
    {{"--log-verbose=1"}, {"log.level=\"debug\""}},
    {{"--log-verbose=true"}, {"log.level=\"debug\""}},
    {{"--log-verbose=2"}, {"log.level=\"trace\""}},
    {{"--log-verbose=0"}, {}},
    {{"--log-info=false"}, {"log.level=\"warning\""}},
    {{"--log-info=false", "--log-warning=false"}, {"log.level=\"error\""}},
    {{"--log-info=true", "--log-warning=true", "--log-error=true"}, {}},
    {{"--log-format=ISO8601"}, {"log.format=\"text\"", "log.time_format=\"ISO8601\""}},
    {{"--allow-http=0", "--http-port=-47"}, {"plugin.http.enabled=false"}},
    {{"--grpc-port=70000", "--grpc-address=", "--allow-grpc=0"}, {"plugin.grpc.enabled=false"}},
    {{"--allow-metrics=0", "--metrics-address=", "--metrics-port=-1"}, {"plugin.metrics.enabled=false"}},
    {{"--log-file=/var/log/x"}, {"log.file=\"/var/log/x\""}},
    {{"--exit-on-error=false"},
     {"plugin.repository.allow_missing_paths=true", "plugin.repository.missing_paths_fail_health=true"}},
    {{"--host-policy=cpu,cpu-cores=0-3,8", "--host-policy=gpu_0,numa-node=1"},
     {R"(plugin.models.host_policies={"cpu.cpu-cores" = "0-3,8", "gpu_0.numa-node" = "1"})"}},
    {{"--model-namespacing=true"}, {"plugin.models.namespacing=true", "plugin.repository.namespacing=true"}},
    {{"--model-namespacing=off"}, {"plugin.models.namespacing=false", "plugin.repository.namespacing=false"}},
    {{"--strict-model-config=true"}, {"plugin.models.auto_complete_config=false"}},
    {{"--strict-model-config=false"}, {"plugin.models.auto_complete_config=true"}},
    {{"--model-control-mode=NONE", "--repository-poll-secs=3"}, {}},
    {{"--model-control-mode=poll"},
     {"plugin.control.interval=\"15s\"", "plugin.control.use=\"control/poll\""}},
    {{"--model-control-mode=POLL", "--repository-poll-secs=3"},
     {"plugin.control.interval=\"3s\"", "plugin.control.use=\"control/poll\""}},
    {{"--model-control-mode=explicit", "--load-model=a", "--load-model=b,c"},
     {"plugin.control.load_model=[\"a\", \"b,c\"]", "plugin.control.use=\"control/explicit\""}},
    {{"--model-config-name=gpu"}, {"plugin.repository.config_name=\"gpu\""}},
    {{"--model-load-thread-count=0"}, {"atoll.worker_threads=1"}},
    {{"--model-load-retry-count=3"}, {"plugin.models.load_retry_count=3"}},
    {{"--allow-http=false", "--allow-grpc=0", "--allow-metrics=off"},
     {"plugin.grpc.enabled=false", "plugin.http.enabled=false", "plugin.metrics.enabled=false"}},
    {{"--http-address=10.0.0.1"},
     {"plugin.http.address=\"10.0.0.1:8000\"", "plugin.metrics.address=\"10.0.0.1:8002\""}},
    {{"--http-address=::1", "--metrics-address=[::1]", "--grpc-address=::"},
     {"plugin.grpc.address=\"[::]:8001\"", "plugin.http.address=\"[::1]:8000\"",
      "plugin.metrics.address=\"[::1]:8002\""}},
    {{"--http-port=0", "--grpc-port=0", "--metrics-port=0"},
     {"plugin.grpc.address=\"127.0.0.1:0\"", "plugin.http.address=\"127.0.0.1:0\"",
      "plugin.metrics.address=\"127.0.0.1:0\""}},
    {{"--http-max-input-size=8589934592"}, {"plugin.http.max_input_size=8589934592"}},
    {{"--http-restricted-api=inference,health:key=a=b", "--http-restricted-api=trace:k=v"},
     {"plugin.keys.restricted_apis=[\"inference,health:key=a=b\", \"trace:k=v\"]",
      "plugin.keys.use=\"security/keys\""}},
    {{"--grpc-restricted-protocol=inference:k=v"},
     {"plugin.keys.restricted_protocols=[\"inference:k=v\"]", "plugin.keys.use=\"security/keys\""}},
    {{"--grpc-use-ssl-mutual=false"}, {"plugin.grpc.use_ssl=true", "plugin.grpc.use_ssl_mutual=false"}},
    {{"--grpc-keepalive-time=5", "--grpc-http2-max-pings-without-data=0"},
     {"plugin.grpc.http2_max_pings_without_data=0", "plugin.grpc.keepalive_time=\"5ms\""}},
    {{"--grpc-infer-response-compression-level=high"}, {"plugin.grpc.response_compression=\"high\""}},
    {{"--metrics-interval-ms=1"}, {"plugin.metrics.interval=\"1ms\"", "plugin.nvml.interval=\"1ms\""}},
    {{"--metrics-config=summary_quantiles=0.1:0.0.1"}, {"plugin.metrics.summary_quantiles=[\"0.1:0\"]"}},
    {{"--cache-config=local,size=1048576"},
     {"plugin.cache.size=\"1048576B\"", "plugin.cache.use=\"caches/local\""}},
    {{"--cache-config=redis,host=cache.example", "--cache-config=redis,port=7"},
     {"plugin.cache.address=\"cache.example:7\"", "plugin.cache.use=\"caches/redis\""}},
    {{"--cache-config=redis,host=::1"},
     {"plugin.cache.address=\"[::1]:6379\"", "plugin.cache.use=\"caches/redis\""}},
    {{"--response-cache-byte-size=1048576"},
     {"plugin.cache.size=\"1048576B\"", "plugin.cache.use=\"caches/local\""}},
    {{"--response-cache-byte-size=0"}, {}},
    {{"--backend-directory=/b"},
     {"plugin.c_api.use=\"frontends/c_api\"", "plugin.dynamic.backend_directory=\"/b\"",
      "plugin.python.directories=[\"/b\"]", "plugin.python.use=\"backends/python\"",
      "plugin.triton.directories=[\"/b\"]", "plugin.triton.use=\"backends/triton\""}},
    {{"--repoagent-directory=/a"},
     {"plugin.agents.directories=[\"/a\"]", "plugin.agents.use=\"agents/triton\""}},
    {{"--cache-config=mine,size=7", "--cache-config=mine,a=b", "--cache-directory=/c"},
     {"plugin.cache.directories=[\"/c\"]", "plugin.cache.name=\"mine\"",
      R"(plugin.cache.settings={"a" = "b", "size" = "7"})", "plugin.cache.use=\"caches/triton\""}},
    {{"--cache-directory=/c"}, {}},
    {{"--metrics-interval-ms=100.7"},
     {"plugin.metrics.interval=\"100ms\"", "plugin.nvml.interval=\"100ms\""}},
    {{"--metrics-config=counter_latencies=no", "--metrics-config=summary_latencies=TRUE",
      "--metrics-config=histogram_latencies=true"},
     {"plugin.metrics.counter_latencies=true", "plugin.metrics.histogram_latencies=true",
      "plugin.metrics.summary_latencies=false"}},
    {{"--metrics-config=summary_quantiles=0.1:0.2", "--metrics-config=summary_quantiles=0.5:0.1,0.9:0.1"},
     {"plugin.metrics.summary_quantiles=[\"0.5:0.1\", \"0.9:0.1\"]"}},
    {{"--backend-config=onnxruntime,intra_op_thread_count=2", "--backend-config=default-max-batch-size=8"},
     {R"(plugin.models.backend_settings={"default-max-batch-size" = "8", "onnxruntime.intra_op_thread_count" = "2"})"}},
    {{"--rate-limit=OFF"}, {}},
    {{"--rate-limit=execution_count", "--rate-limit-resource=R1:10", "--rate-limit-resource=R2:5:0"},
     {"plugin.rate_limiter.resources=[\"R1:10\", \"R2:5:0\"]",
      "plugin.rate_limiter.use=\"admission/rate_limiter\""}},
    {{"--allow-client-shm=true"}, {"plugin.shared.allow_client_shm=true"}},
    {{"--allow-gpu-metrics=false"}, {"plugin.nvml.enabled=false"}},
    {{"--allow-gpu-metrics=true"}, {"plugin.nvml.enabled=true"}},
    {{"--pinned-memory-pool-byte-size=268435456"}, {"plugin.pinned.size=\"268435456B\""}},
    {{"--pinned-memory-pool-byte-size=0"}, {"plugin.pinned.size=\"0B\""}},
    {{"--cuda-memory-pool-byte-size=0:67108864", "--cuda-memory-pool-byte-size=1:0",
      "--cuda-memory-pool-byte-size=0:9"},
     {R"(plugin.gpus.kept_by_device={"0" = "9B", "1" = "0B"})"}},
    {{"--cuda-virtual-address-size=0:4096", "--cuda-virtual-address-size=1:8192"},
     {"plugin.sequence_direct.growable_state=\"8192B\"", "plugin.sequence_oldest.growable_state=\"8192B\""}},
    {{"--min-supported-compute-capability=7.5"},
     {"plugin.configs.min_compute_capability=7.5", "plugin.gpus.min_compute_capability=7.5",
      R"(plugin.models.backend_settings={"min-compute-capability" = "7.500000"})"}},
    {{"--model-load-gpu-limit=0:0.8", "--model-load-gpu-limit=1:0", "--model-load-gpu-limit=2:1.0"},
     {R"(plugin.models.gpu_load_limit={"0" = "0.8", "1" = "0", "2" = "1"})"}},
    {{"--allow-sagemaker=false", "--allow-vertex-ai=false"}, {}},
};

TEST(Launch, FlagsSetKeys) {
  LauncherFixture fixture;
  for (const MappedCase& c : kMapped) {
    Launch launch = fixture.serve(c.flags);
    EXPECT_EQ(launch.failure, "") << c.flags[0];
    EXPECT_EQ(beyond_defaults(fixture, launch), c.settings) << c.flags[0] << launch.parse_text;
  }
}

TEST(Launch, UsesWhatAnInstalledTritonHas) {
  LauncherFixture fixture;
  const std::string triton = fixture.at("opt/tritonserver");
  for (const char* folder : {"backends", "repoagents", "caches"}) {
    fixture.add_folder(cat("opt/tritonserver/", folder));
  }
  EXPECT_EQ(beyond_defaults(fixture, fixture.serve({"--cache-config=mine,size=7"})),
            (Texts{cat("plugin.agents.directories=[\"", triton, "/repoagents\"]"),
                   "plugin.agents.use=\"agents/triton\"", "plugin.c_api.use=\"frontends/c_api\"",
                   cat("plugin.cache.directories=[\"", triton, "/caches\"]"), "plugin.cache.name=\"mine\"",
                   R"(plugin.cache.settings={"size" = "7"})", "plugin.cache.use=\"caches/triton\"",
                   cat("plugin.python.directories=[\"", triton, "/backends\"]"),
                   "plugin.python.use=\"backends/python\"",
                   cat("plugin.triton.directories=[\"", triton, "/backends\"]"),
                   "plugin.triton.use=\"backends/triton\""}));
  fixture.remove("lib/atoll/plugins/backends/python.so");
  fixture.remove("lib/atoll/plugins/backends/triton.so");
  fixture.remove("lib/atoll/plugins/agents/triton.so");
  const Texts settings = fixture.serve({}).settings;
  EXPECT_THAT(beyond_defaults(fixture, fixture.serve({})), IsEmpty());
  EXPECT_THAT(settings, testing::Not(Contains(testing::StartsWith("plugin.python."))));
}

TEST(Launch, FlagsOfGpusHaveNoEffectWithoutTheirPlugins) {
  LauncherFixture fixture;
  const Texts flags = {"--pinned-memory-pool-byte-size=1", "--cuda-memory-pool-byte-size=0:1",
                       "--cuda-virtual-address-size=0:1", "--min-supported-compute-capability=7",
                       "--model-load-gpu-limit=0:1"};
  const std::string end = ", which is not in " + fixture.at("lib/atoll/plugins");
  fixture.remove("lib/atoll/plugins/memory/pinned.so");
  fixture.remove("lib/atoll/plugins/backends/cuda.so");
  Launch launch = fixture.serve(flags);
  EXPECT_THAT(
      launch.warnings,
      ElementsAre("--pinned-memory-pool-byte-size has no effect: it needs the plugin memory/pinned" + end));
  EXPECT_THAT(launch.settings, Contains("plugin.gpus.use=\"memory/cuda\""));
  fixture.remove("lib/atoll/plugins/memory/cuda.so");
  launch = fixture.serve(flags);
  EXPECT_THAT(
      launch.warnings,
      ElementsAre("--cuda-memory-pool-byte-size has no effect: it needs the plugin memory/cuda" + end,
                  "--min-supported-compute-capability has no effect: it needs the plugin memory/cuda" + end,
                  "--pinned-memory-pool-byte-size has no effect: it needs the plugin memory/cuda" + end));
  EXPECT_EQ(beyond_defaults(fixture, launch), (Texts{R"(plugin.models.gpu_load_limit={"0" = "1"})",
                                                     "plugin.sequence_direct.growable_state=\"1B\"",
                                                     "plugin.sequence_oldest.growable_state=\"1B\""}));
}

TEST(Launch, Traces) {
  LauncherFixture fixture;
  fixture.environment["OTEL_BSP_SCHEDULE_DELAY"] = "70";
  fixture.environment["OTEL_BSP_MAX_QUEUE_SIZE"] = "80";
  struct Case {
    Texts flags;
    Texts settings;
  } cases[] = {
      {{"--trace-config=level=timestamps", "--trace-config=level=on", "--trace-config=triton,file=/t",
        "--trace-config=rate=5", "--trace-config", "triton,log-frequency=7"},
       {"plugin.trace.level=[\"TIMESTAMPS\", \"on\"]", "plugin.trace.log_frequency=7", "plugin.trace.rate=5",
        "plugin.trace.trace_file=\"/t\""}},
      {{"--trace-config=mode=OpenTelemetry", "--trace-config=level=TIMESTAMPS",
        "--trace-config=opentelemetry,url=http://x", "--trace-config=opentelemetry,resource=a=b",
        "--trace-config=opentelemetry,bsp_max_queue_size=9"},
       {"plugin.trace.bsp_max_queue_size=9", "plugin.trace.bsp_schedule_delay=\"70ms\"",
        "plugin.trace.level=[\"TIMESTAMPS\"]", "plugin.trace.mode=\"opentelemetry\"",
        "plugin.trace.resource=[\"service.name=triton-inference-server\", \"a=b\"]",
        "plugin.trace.url=\"http://x\""}},
      {{"--trace-config=opentelemetry,resource=service.name=mine"},
       {"plugin.trace.resource=[\"service.name=mine\"]"}},
      {{"--trace-file=/old", "--trace-level=min", "--trace-rate=1", "--trace-count=2",
        "--trace-log-frequency=3", "--trace-config=count=4"},
       {"plugin.trace.count=4", "plugin.trace.level=[\"min\"]", "plugin.trace.log_frequency=3",
        "plugin.trace.rate=1", "plugin.trace.trace_file=\"/old\""}},
      {{"--trace-config=level=TIMESTAMPS"}, {}},
  };
  for (const Case& c : cases) {
    Launch launch = fixture.serve(c.flags);
    EXPECT_EQ(beyond_defaults(fixture, launch), c.settings)
        << c.flags[0] << launch.failure << launch.parse_text;
  }
}

TEST(Launch, WarnsOfWhatHasNoEffectAndWhatIsDeprecated) {
  LauncherFixture fixture;
  struct Case {
    const char* flag;
    const char* warning;
  } cases[] = {
      {"--buffer-manager-thread-count=4",
       "--buffer-manager-thread-count has no effect: tensors are used where they were received"},
      {"--grpc-infer-allocation-pool-size=16",
       "--grpc-infer-allocation-pool-size has no effect: requests' memory is always reused"},
      {"--enable-peer-access=true", "--enable-peer-access has no effect: no tensors are copied between GPUs"},
      {"--trace-config=triton,colour=red", "--trace-config triton,colour=red is not known and has no effect"},
      {"--trace-config=level=TENSORS",
       "nothing is traced: --trace-config level has no effect without --trace-config triton,file"},
      {"--metrics-config=colour=red", "--metrics-config colour is not known and has no effect"},
      {"--metrics-config=summary_quantiles=0.5",
       "Invalid option: [0.5]. No ':' delimiter found. Expected format is <quantile>:<error>"},
      {"--cache-directory=/c", "--cache-directory has no effect without --cache-config"},
      {"--rate-limit-resource=R1:1",
       "--rate-limit-resource has no effect without --rate-limit=execution_count"},
      {"--strict-model-config=true",
       "'--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead."},
      {"--response-cache-byte-size=0",
       "'--response-cache-byte-size' has been deprecated! This will default to the 'local' cache implementation with "
       "the provided byte size for its config. Please use '--cache-config' instead. The equivalent --cache-config CLI "
       "args would be: '--cache-config=local,size=0'"},
      {"--trace-rate=5",
       "'--trace-rate' has been deprecated and will be removed in future releases. Please "
       "use '--trace-config rate=<rate value> instead."},
      {"--trace-file=f",
       "'--trace-file' has been deprecated and will be removed in future releases. Please "
       "use '--trace-config triton,file=<filepath> instead."},
      {"--trace-level=OFF",
       "'--trace-level' has been deprecated and will be removed in future releases. "
       "Please use '--trace-config level=<OFF|TIMESTAMPS|TENSORS> instead."},
  };
  for (const Case& c : cases) {
    Launch launch = fixture.serve({c.flag});
    EXPECT_THAT(launch.warnings, Contains(c.warning)) << c.flag;
    EXPECT_FALSE(launch.settings.empty()) << c.flag << launch.failure;
  }
  EXPECT_THAT(fixture.serve({}).warnings, IsEmpty());
}

struct RefusedCase {
  const char* flag;
  const char* reason;
};
const RefusedCase kRefused[] = {
    {"--log-error=false", "--log-error=false is not served: errors are always written"},
    {"--log-warning=false",
     "--log-warning=false is not served beside informational records: the log has one level from which on "
     "records are written; add --log-info=false"},
    {"--exit-on-error=true",
     "--exit-on-error=true is not served: a model that fails to load never ends the server; the others are "
     "served, and with --strict-readiness, the default, the server does not become ready. Leave the flag "
     "out"},
    {"--reuse-http-port=true",
     "--reuse-http-port=true is not served: the HTTP port is this server's alone; put a load balancer "
     "before several servers"},
    {"--model-store=gs://bucket/models",
     "--model-repository=gs://bucket/models is not served: of object stores only those are that speak S3 (s3://); "
     "mount or copy it"},
};

TEST(Launch, RefusesWhatIsNotServed) {
  LauncherFixture fixture;
  for (const RefusedCase& c : kRefused) {
    EXPECT_EQ(fixture.serve({c.flag}).failure, cat("error: creating server: Unsupported - ", c.reason, "\n"));
  }
}

TEST(Launch, EndpointsThatAreAllowedMustBePossible) {
  struct Case {
    const char* flag;
    const char* text;
  } cases[] = {{"--http-port=65536", "--http-port: found 65536, expected a port from 0 to 65535"},
               {"--grpc-port=-1", "--grpc-port: found -1, expected a port from 0 to 65535"},
               {"--metrics-port=-1", "--metrics-port: found -1, expected a port from 0 to 65535"},
               {"--http-address=", "--http-address: found nothing, expected an address to listen on"},
               {"--grpc-address=", "--grpc-address: found nothing, expected an address to listen on"}};
  LauncherFixture fixture;
  for (const Case& c : cases) {
    EXPECT_EQ(fixture.serve({c.flag}).failure,
              cat("error: creating server: Invalid argument - ", c.text, "\n"));
  }
}

TEST(Launch, ThereIsOneCache) {
  LauncherFixture fixture;
  EXPECT_THAT(fixture.serve({"--cache-config=local,size=1048576", "--cache-directory=/c"}).warnings,
              ElementsAre("--cache-directory has no effect: the cache local is Atoll's own"));
  EXPECT_EQ(
      fixture.serve({"--cache-config=local,size=1048576", "--cache-config=redis,host=h"}).failure,
      "error: creating server: Invalid argument - found multiple cache configurations, but only a single cache "
      "is currently supported\n");
  EXPECT_EQ(
      fixture.serve({"--cache-config=local,size=much"}).failure,
      "error: creating server: Internal - Failed to initialize LocalCache: config didn't contain a valid 'size' "
      "field.\n");
}

TEST(Launch, TellsAllRefusalsAtOnce) {
  LauncherFixture fixture;
  EXPECT_EQ(
      fixture.run({"--log-error=false", "--reuse-http-port=true"}).failure,
      "error: creating server: Unsupported - --log-error=false is not served: errors are always written\n"
      "error: creating server: Unsupported - --reuse-http-port=true is not served: the HTTP port is this server's alone; put "
      "a load balancer before several servers\n");
}

TEST(Launch, RefusesWhatNeedsAPluginThatIsNotThere) {
  struct Case {
    const char* flag;
    const char* plugin;
    const char* not_shown = "";
  } cases[] = {{"--model-control-mode=poll", "control/poll"},
               {"--model-control-mode=explicit", "control/explicit"},
               {"--rate-limit=execution_count", "admission/rate_limiter"},
               {"--cache-config=local", "caches/local", ",size=1048576"},
               {"--cache-config=mine", "caches/triton", ",size=1048576"},
               {"--backend-directory", "backends/triton", "=/b"},
               {"--repoagent-directory", "agents/triton", "=/a"},
               {"--http-restricted-api", "security/keys", "=health:k=secret"},
               {"--grpc-restricted-protocol", "security/keys", "=health:k=secret"}};
  for (const Case& c : cases) {
    LauncherFixture fixture;
    fixture.remove(cat("lib/atoll/plugins/", c.plugin, ".so"));
    EXPECT_EQ(fixture.serve({cat(c.flag, c.not_shown)}).failure,
              cat("error: creating server: Unsupported - ", c.flag, " is not served: it needs the plugin ",
                  c.plugin, ", which is not in ", fixture.at("lib/atoll/plugins"), "\n"));
  }
}

TEST(Launch, AMissingPluginIsToldWithHowToGetIt) {
  LauncherFixture fixture;
  fixture.remove("lib/atoll/plugins/caches/local.so");
  std::ofstream(fixture.at("lib/atoll/plugins/caches/local.missing"))
      << "to get it: build caches/local\nmore\n";
  EXPECT_THAT(fixture.serve({"--cache-config=local,size=1048576"}).failure,
              EndsWith(cat(fixture.at("lib/atoll/plugins"), "; to get it: build caches/local\n")));
}

TEST(Launch, TheEnvironmentSaysWhereToListenIfNoFlagDoes) {
  LauncherFixture fixture;
  fixture.environment = {{"ATOLL_LISTEN_ADDRESS", "0.0.0.0"}};
  EXPECT_THAT(fixture.serve({"--grpc-port=9001"}).settings,
              IsSupersetOf({"plugin.http.address=\"0.0.0.0:8000\"", "plugin.grpc.address=\"0.0.0.0:9001\"",
                            "plugin.metrics.address=\"0.0.0.0:8002\""}));
  EXPECT_THAT(
      fixture.serve({"--http-address=127.0.0.2", "--grpc-address=127.0.0.3"}).settings,
      IsSupersetOf({"plugin.http.address=\"127.0.0.2:8000\"", "plugin.grpc.address=\"127.0.0.3:8001\"",
                    "plugin.metrics.address=\"127.0.0.2:8002\""}));
  fixture.environment = {{"ATOLL_LISTEN_ADDRESS", "::"}};
  EXPECT_THAT(fixture.serve({}).settings, Contains("plugin.http.address=\"[::]:8000\""));
  fixture.environment = {{"ATOLL_LISTEN_ADDRESS", ""}};
  EXPECT_THAT(fixture.serve({}).settings, Contains("plugin.http.address=\"127.0.0.1:8000\""));
}

TEST(Launch, FlagsThatDoNotGoTogether) {
  LauncherFixture fixture;
  struct Case {
    std::vector<std::string> flags;
    const char* failure;
  } cases[] = {
      {{"--http-port=9000", "--grpc-port=9000"},
       "The server cannot listen to HTTP requests and GRPC requests at the same address and port "
       "127.0.0.1:9000"},
      {{"--cache-config=local,size=1048576", "--response-cache-byte-size=5"},
       "Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or "
       "the other."},
      {{"--http-port=8002"},
       "The server cannot listen to HTTP requests and metrics requests at the same address and port "
       "127.0.0.1:8002"},
      {{"--grpc-port=8002"},
       "The server cannot listen to GRPC requests and metrics requests at the same address and port "
       "127.0.0.1:8002"},
      {{"--load-model=a"},
       "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well."},
      {{"--model-control-mode=explicit", "--load-model=a", "--load-model=*"},
       "error: creating server: Invalid argument - Wildcard model name '*' must be the ONLY startup model if "
       "specified at all."},
      {{"--log-verbose=1", "--log-info=false"},
       "error: creating server: Unsupported - --log-info=false is not served beside --log-verbose: the log "
       "has one level from which on records are written; leave one of the two out"},
  };
  for (const Case& c : cases) EXPECT_EQ(fixture.serve(c.flags).failure, cat(c.failure, "\n"));
  EXPECT_EQ(fixture.serve({"--http-port=9000", "--grpc-port=9000", "--allow-http=false"}).failure, "");
  EXPECT_EQ(fixture.serve({"--http-port=9000", "--grpc-port=9000", "--grpc-address=127.0.0.2"}).failure, "");
}

TEST(Launch, Repositories) {
  LauncherFixture fixture;
  EXPECT_EQ(fixture.run({}).failure,
            "error: creating server: Invalid argument - --model-repository must be specified\n");
  EXPECT_EQ(fixture.run({"--model-repository=/no/such"}).failure,
            "error: creating server: Internal - failed to stat file /no/such\n");
  EXPECT_EQ(fixture.run({"--model-repository=" + fixture.at("notes.txt")}).failure,
            cat("error: creating server: Invalid argument - repository path is not a valid directory: ",
                fixture.at("notes.txt"), "\n"));
  Launch launch =
      fixture.serve({"--model-store=" + fixture.at("lib"), "--model-repository=" + fixture.at("lib"),
                     "--model-repository=" + fixture.repository()});
  EXPECT_THAT(launch.settings, Contains(cat("plugin.repository.paths=[\"", fixture.repository(), "\", \"",
                                            fixture.at("lib"), "\"]")));
}

TEST(Launch, RepositoriesInObjectStoresHaveTheirPlugin) {
  LauncherFixture fixture;
  EXPECT_THAT(fixture.serve({"--model-repository=s3://h:1/b/p"}).failure,
              HasSubstr("--model-repository=s3:// is not served: it needs the plugin repositories/s3"));
  fixture.add_plugin("repositories/s3");
  EXPECT_THAT(fixture.serve({}).settings, Not(Contains(HasSubstr("plugin.repository.use"))));
  fixture.environment["TRITON_AWS_MOUNT_DIRECTORY"] = "/cache";
  const Launch launch = fixture.serve({"--model-repository=s3://h:1/b/p"});
  EXPECT_EQ(launch.failure, "");
  EXPECT_THAT(launch.settings, Contains("plugin.repository.use=\"repositories/s3\""));
  EXPECT_THAT(launch.settings, Contains("plugin.repository.cache_directory=\"/cache\""));
  EXPECT_THAT(launch.settings,
              Contains(cat("plugin.repository.paths=[\"", fixture.repository(), "\", \"s3://h:1/b/p\"]")));
}

}  // namespace
}  // namespace atl::tritonserver
