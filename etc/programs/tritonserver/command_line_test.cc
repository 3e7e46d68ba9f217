#include "command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "flag_table.h"
#include "testing/launcher_fixture.h"

namespace atl::tritonserver {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// Every option of the reference.
constexpr const char* kReference[] = {"id",
                                      "exit-timeout-secs",
                                      "log-verbose",
                                      "log-info",
                                      "log-warning",
                                      "log-error",
                                      "log-format",
                                      "log-file",
                                      "model-repository",
                                      "model-store",
                                      "exit-on-error",
                                      "disable-auto-complete-config",
                                      "strict-readiness",
                                      "model-control-mode",
                                      "repository-poll-secs",
                                      "load-model",
                                      "model-config-name",
                                      "model-load-thread-count",
                                      "model-load-retry-count",
                                      "model-namespacing",
                                      "enable-peer-access",
                                      "allow-http",
                                      "http-address",
                                      "http-port",
                                      "reuse-http-port",
                                      "http-header-forward-pattern",
                                      "http-thread-count",
                                      "http-max-input-size",
                                      "http-restricted-api",
                                      "allow-grpc",
                                      "grpc-address",
                                      "grpc-port",
                                      "reuse-grpc-port",
                                      "grpc-header-forward-pattern",
                                      "grpc-infer-thread-count",
                                      "grpc-infer-allocation-pool-size",
                                      "grpc-max-response-pool-size",
                                      "grpc-use-ssl",
                                      "grpc-use-ssl-mutual",
                                      "grpc-server-cert",
                                      "grpc-server-key",
                                      "grpc-root-cert",
                                      "grpc-infer-response-compression-level",
                                      "grpc-keepalive-time",
                                      "grpc-keepalive-timeout",
                                      "grpc-keepalive-permit-without-calls",
                                      "grpc-http2-max-pings-without-data",
                                      "grpc-http2-min-recv-ping-interval-without-data",
                                      "grpc-http2-max-ping-strikes",
                                      "grpc-max-connection-age",
                                      "grpc-max-connection-age-grace",
                                      "grpc-restricted-protocol",
                                      "allow-metrics",
                                      "allow-gpu-metrics",
                                      "allow-cpu-metrics",
                                      "metrics-address",
                                      "metrics-port",
                                      "metrics-interval-ms",
                                      "metrics-config",
                                      "trace-config",
                                      "backend-directory",
                                      "backend-config",
                                      "repoagent-directory",
                                      "cache-config",
                                      "cache-directory",
                                      "rate-limit",
                                      "rate-limit-resource",
                                      "pinned-memory-pool-byte-size",
                                      "cuda-memory-pool-byte-size",
                                      "cuda-virtual-address-size",
                                      "min-supported-compute-capability",
                                      "buffer-manager-thread-count",
                                      "host-policy",
                                      "model-load-gpu-limit",
                                      "allow-client-shm",
                                      "allow-sagemaker",
                                      "sagemaker-port",
                                      "sagemaker-safe-port-range",
                                      "sagemaker-thread-count",
                                      "allow-vertex-ai",
                                      "vertex-ai-port",
                                      "vertex-ai-thread-count",
                                      "vertex-ai-default-model",
                                      "strict-model-config",
                                      "response-cache-byte-size",
                                      "trace-file",
                                      "trace-level",
                                      "trace-rate",
                                      "trace-count",
                                      "trace-log-frequency"};

/// Those that Triton does not have.
constexpr const char* kOwn[] = {"follow-links", "open-early", "pass-environment"};

TEST(FlagTable, HasEveryOptionOnceAndNoOther) {
  std::multiset<std::string> names;
  for (const Flag& flag : flag_table()) names.emplace(flag.name);
  std::multiset<std::string> expected(std::begin(kReference), std::end(kReference));
  expected.insert(std::begin(kOwn), std::end(kOwn));
  EXPECT_EQ(names, expected);
}

TEST(FlagTable, EveryRowIsWholeAndInTheOrderOfHelp) {
  Group last = Group::kServer;
  for (const Flag& flag : flag_table()) {
    EXPECT_GE(flag.group, last) << flag.name;
    last = flag.group;
    EXPECT_TRUE(flag.help.ends_with('.')) << flag.name;
    using Kind = FlagEffect::Kind;
    const FlagEffect& effect = flag.effect;
    EXPECT_EQ(effect.kind == Kind::kKey, !effect.key.empty() && !effect.read) << flag.name;
    EXPECT_EQ(effect.kind == Kind::kOwn, effect.read != nullptr && effect.why.empty()) << flag.name;
    bool excused =
        effect.kind == Kind::kNothing || effect.kind == Kind::kRefused || effect.kind == Kind::kMustBeOff;
    EXPECT_EQ(excused, !effect.why.empty()) << flag.name;
  }
}

TEST(Usage, TellsOfEveryFlagInGroups) {
  std::string text = usage();
  EXPECT_THAT(text, StartsWith("Usage: tritonserver [options]\n"));
  size_t place = 0;
  for (const char* title : {"Server", "Logging", "Model Repository", "HTTP", "GRPC", "Sagemaker", "Vertex",
                            "Metrics", "Tracing", "Backend", "Repository Agent", "Response Cache",
                            "Rate Limiter", "Memory/Device Management", "Shared Memory", "DEPRECATED"}) {
    size_t found = text.find(cat("\n", title, ":\n"));
    ASSERT_NE(found, std::string::npos) << title;
    EXPECT_GT(found, place) << title;
    place = found;
  }
  for (const Flag& flag : flag_table()) EXPECT_THAT(text, HasSubstr(cat("\n  --", flag.name)));
  EXPECT_THAT(text, HasSubstr("  --http-thread-count <integer>\n\tThreads that serve HTTP, 1 to 128. "
                              "Default: a CPU each, at most 8. Manifest:\n\tplugin.http.threads.\n"));
}

TEST(CommandLine, TakesEveryForm) {
  LauncherFixture fixture;
  struct Case {
    std::vector<std::string> flags;
    const char* setting;
  } cases[] = {
      {{"--http-thread-count=3"}, "plugin.http.threads=3"},
      {{"--http-thread-count", "3"}, "plugin.http.threads=3"},
      {{"--http-thread", "3"}, "plugin.http.threads=3"},
      {{"--http-thread-count=3", "--http-thread-count=4"}, "plugin.http.threads=4"},
      {{"--disable-auto-complete-config"}, "plugin.models.auto_complete_config=false"},
      {{"--strict-readiness=FALSE"}, "plugin.models.strict_readiness=false"},
      {{"--log-file="}, "log.file=\"\""},
  };
  for (const Case& c : cases) EXPECT_THAT(fixture.serve(c.flags).settings, Contains(c.setting));
}

TEST(CommandLine, HelpIsTheUsageAndAFailure) {
  LauncherFixture fixture;
  Launch launch = fixture.run({"--help", "--http-port=x"});
  EXPECT_FALSE(launch.parsed);
  EXPECT_EQ(launch.parse_text, usage());
}

TEST(CommandLine, WhatGetoptDoesNotUnderstandEndsWithAHint) {
  LauncherFixture fixture;
  struct Case {
    const char* flag;
    const char* line;
  } cases[] = {{"--no-such-flag", "tritonserver: unrecognized option '--no-such-flag'\n"},
               {"-x", "tritonserver: invalid option -- 'x'\n"},
               {"--http-port", "tritonserver: option '--http-port' requires an argument\n"},
               {"--disable-auto-complete-config=1",
                "tritonserver: option '--disable-auto-complete-config' doesn't allow an argument\n"},
               {"--grpc-max=1", "tritonserver: option '--grpc-max=1' is ambiguous"}};
  for (const Case& c : cases) {
    testing::internal::CaptureStderr();
    Launch launch = fixture.run({c.flag});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), StartsWith(c.line));
    EXPECT_FALSE(launch.parsed);
    EXPECT_EQ(launch.parse_text, cat(kSeeHelp, "\n"));
  }
}

TEST(CommandLine, AMisspeltFlagIsToldTheOneThatWasMeant) {
  LauncherFixture fixture;
  struct Case {
    const char* flag;
    std::string suggestion;
  } cases[] = {{"--htp-port=1", "Did you mean '--http-port'?\n"},
               {"--model-repositories=/m", "Did you mean '--model-repository'?\n"},
               {"--http-port", ""},  // it lacks only its value
               {"--nothing-that-is-alike", ""}};
  for (const Case& c : cases) {
    testing::internal::CaptureStderr();
    Launch launch = fixture.run({c.flag});
    testing::internal::GetCapturedStderr();
    EXPECT_FALSE(launch.parsed);
    EXPECT_EQ(launch.parse_text, cat(c.suggestion, kSeeHelp, "\n")) << c.flag;
  }
}

struct BadValuesCase {
  const char* flag;
  const char* text;
};
const BadValuesCase kBadValues[] = {
    {"--strict-readiness=maybe",
     "\"--strict-readiness\".\ninvalid value for bool option: found 'maybe', "
     "expected one of: true, on, 1, false, off, 0"},
    {"--http-port=x", "\"--http-port\".\nInvalid option value. Got x"},
    {"--http-port=99999999999", "\"--http-port\".\nProvided option value is out of bound. Got 99999999999"},
    {"--http-thread-count=0", "\"--http-thread-count\".\nfound 0, expected 1 to 128"},
    {"--exit-timeout-secs=86401", "\"--exit-timeout-secs\".\nfound 86401, expected at most 86400"},
    {"--log-format=iso8601",
     "\"--log-format\".\ninvalid argument for --log-format: found 'iso8601', "
     "expected one of: default, ISO8601"},
    {"--log-verbose=x", "\"--log-verbose\".\nInvalid option value. Got x"},
    {"--model-control-mode=auto",
     "\"--model-control-mode\".\ninvalid argument for --model-control-mode: "
     "found 'auto', expected one of: none, poll, explicit"},
    {"--repository-poll-secs=-1", "\"--repository-poll-secs\".\nfound -1, expected 0 to 86400"},
    {"--model-config-name=", "\"--model-config-name\".\nError: empty argument for --model-config-name"},
    {"--model-load-thread-count=65", "\"--model-load-thread-count\".\nfound 65, expected at most 64"},
    {"--http-max-input-size=0",
     "\"--http-max-input-size\".\nError: --http-max-input-size must be greater than 0."},
    {"--http-max-input-size=5", "\"--http-max-input-size\".\nfound 5, expected 1024 to 1099511627776"},
    {"--http-restricted-api=inference",
     "\"--http-restricted-api\".\n--http-restricted-api option format is '<config "
     "name>:<setting>=<value>'. Got inference"},
    {"--grpc-restricted-protocol=inference=secret",
     "\"--grpc-restricted-protocol\".\n--grpc-restricted-protocol option format is '<config "
     "name>:<setting>=<value>'. Got inference=..."},
    {"--http-restricted-api=health,all:k=v",
     "\"--http-restricted-api\".\nunknown restricted api: found 'all', "
     "expected one of: health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace, logging"},
    {"--grpc-restricted-protocol=trace,trace:k=v",
     "\"--grpc-restricted-protocol\".\nrestricted protocol 'trace' can not be specified in multiple config "
     "groups"},
    {"--grpc-infer-thread-count=129",
     "\"--grpc-infer-thread-count\".\ninvalid argument for --grpc_infer_thread_count. Must be in the range "
     "2 to 128."},
    {"--grpc-max-response-pool-size=0",
     "\"--grpc-max-response-pool-size\".\nError: --grpc-max-response-pool-size must be greater than 0."},
    {"--grpc-infer-response-compression-level=best",
     "\"--grpc-infer-response-compression-level\".\ninvalid argument for "
     "--grpc_infer_response_compression_level: found 'best', expected one of: none, low, medium, high"},
    {"--metrics-config=a,b=c",
     "\"--metrics-config\".\n--metrics-config option format is <setting>=<value>. Got a,b=c"},
    {"--metrics-config=a",
     "\"--metrics-config\".\n--metrics-config option format is <setting>=<value>. Got a"},
    {"--trace-config=level",
     "\"--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got level"},
    {"--trace-config=,file=x",
     "\"--trace-config\".\nNo trace mode specified. --trace-config option format is <trace "
     "mode>,<setting>=<value> or <setting>=<value>. Got ,file=x"},
    {"--metrics-config=summary_quantiles=0.5:x", "\"--metrics-config\".\nInvalid option value. Got x"},
    {"--trace-config=triton,log-frequency=often",
     "\"--trace-config triton,log-frequency\".\nInvalid option value. Got often"},
    {"--trace-config=opentelemetry,bsp_max_queue_size=bad",
     "\"--trace-config opentelemetry,bsp_max_queue_size\".\nInvalid option value. Got bad"},
    {"--trace-config=level=SOME",
     "\"--trace-config level\".\ninvalid value for trace level option: found 'SOME', "
     "expected one of: OFF, TIMESTAMPS, TENSORS, true, false, on, min, max"},
    {"--trace-config=rate=often", "\"--trace-config rate\".\nInvalid option value. Got often"},
    {"--trace-config=mode=jaeger",
     "\"--trace-config mode\".\ninvalid value for trace mode option: found 'jaeger', "
     "expected one of: triton, opentelemetry"},
    {"--trace-config=opentelemetry,resource=x",
     "\"--trace-config opentelemetry,resource\".\nfound resource 'x', expected <key>=<value>"},
    {"--trace-level=SOME",
     "\"--trace-level\".\ninvalid value for trace level option: found 'SOME', "
     "expected one of: OFF, TIMESTAMPS, TENSORS, true, false, on, min, max"},
    {"--backend-config=x",
     "\"--backend-config\".\n--backend-config option format is '<backend name>,<setting>=<value>'. Got x"},
    {"--backend-config=,x=y",
     "\"--backend-config\".\nNo backend specified. --backend-config option format is <backend "
     "name>,<setting>=<value> or <setting>=<value>. Got ,x=y"},
    {"--backend-config=a.b=y", "\"--backend-config\".\nfound 'a.b', expected a name without a dot"},
    {"--cache-config=size=5",
     "\"--cache-config\".\nNo cache specified. --cache-config option format is <cache "
     "name>,<setting>=<value>. Got size=5"},
    {"--cache-config=x",
     "\"--cache-config\".\n--cache-config option format is '<cache name>,<setting>=<value>'. Got x"},
    {"--repoagent-directory=",
     "\"--repoagent-directory\".\nInvalid argument - --repoagent-directory can not be empty"},
    {"--rate-limit=on",
     "\"--rate-limit\".\ninvalid argument for --rate-limit: found 'on', "
     "expected one of: off, execution_count"},
    {"--rate-limit-resource=R1",
     "\"--rate-limit-resource\".\n--rate-limit-resource option format is "
     "'<resource_name>:<count>:<device>' "
     "or '<resource_name>:<count>'. Got R1"},
    {"--rate-limit-resource=R1:x", "\"--rate-limit-resource\".\nInvalid option value. Got x"},
    {"--cuda-memory-pool-byte-size=5",
     "\"--cuda-memory-pool-byte-size\".\nCannot parse pair option due to incorrect number of "
     "inputs.--<pair "
     "option> argument requires format <first>:<second>. Found: 5"},
    {"--host-policy=a,b=c",
     "\"--host-policy\".\nUnsupported host policy setting 'b' is specified, supported settings are "
     "'numa-node', 'cpu-cores'"},
    {"--host-policy=cpu-cores=1-2",
     "\"--host-policy\".\n--host-policy option format is '<policy name>,<setting>=<value>'. Got "
     "cpu-cores=1-2"},
    {"--model-load-gpu-limit=0:1.5",
     "\"--model-load-gpu-limit\".\nexpects limit fraction to be in range [0.0, 1.0], got 1.5"},
    {"--model-load-gpu-limit=-1:0.5", "\"--model-load-gpu-limit\".\nexpects device ID >= 0, got -1"},
    {"--cuda-memory-pool-byte-size=-1:5",
     "\"--cuda-memory-pool-byte-size\".\nexpects device ID >= 0, got -1"},
    {"--cuda-memory-pool-byte-size=0:-5",
     "\"--cuda-memory-pool-byte-size\".\nProvided option value is out of bound. Got -5"},
    {"--cuda-virtual-address-size=0:much",
     "\"--cuda-virtual-address-size\".\nInvalid option value. Got much"},
    {"--pinned-memory-pool-byte-size=-1",
     "\"--pinned-memory-pool-byte-size\".\nProvided option value is out of bound. Got -1"},
    {"--min-supported-compute-capability=100",
     "\"--min-supported-compute-capability\".\nfound 100, expected 0 to 99"},
    {"--pinned-memory-pool-byte-size=lots",
     "\"--pinned-memory-pool-byte-size\".\nInvalid option value. Got lots"},
    {"--min-supported-compute-capability=x",
     "\"--min-supported-compute-capability\".\nInvalid option value. Got x"},
    {"--allow-gpu-metrics=maybe",
     "\"--allow-gpu-metrics\".\ninvalid value for bool option: found 'maybe', "
     "expected one of: true, on, 1, false, off, 0"},
};

TEST(CommandLine, BadValuesNameTheirOption) {
  LauncherFixture fixture;
  for (const BadValuesCase& c : kBadValues) {
    Launch launch = fixture.run({c.flag});
    EXPECT_FALSE(launch.parsed) << c.flag;
    EXPECT_EQ(launch.parse_text, cat("Bad option: ", c.text, "\n", kSeeHelp, "\n"));
  }
}

TEST(CommandLine, BadValuesOfTheEnvironmentNameTheirVariable) {
  LauncherFixture fixture;
  for (const char* variable :
       {"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY"}) {
    fixture.environment = {{variable, "bad"}};
    EXPECT_TRUE(fixture.run({"--trace-config=mode=triton"}).parsed) << "of the other mode only";
    Launch launch = fixture.run({"--trace-config=mode=opentelemetry"});
    EXPECT_FALSE(launch.parsed);
    EXPECT_EQ(launch.parse_text,
              cat("Bad option: \"", variable, "\".\nInvalid option value. Got bad\n", kSeeHelp, "\n"));
    fixture.environment = {{variable, "7x"}};
    EXPECT_TRUE(fixture.run({"--trace-config=mode=opentelemetry"}).parsed);
  }
}

TEST(CommandLine, ACategoryIsInOneGroupOnly) {
  LauncherFixture fixture;
  EXPECT_EQ(fixture
                .run({"--http-restricted-api=trace:k=v", "--grpc-restricted-protocol=trace:k=v",
                      "--http-restricted-api=health,trace:a=b"})
                .parse_text,
            cat("Bad option: \"--http-restricted-api\".\nrestricted api 'trace' can not be specified in "
                "multiple config groups\n",
                kSeeHelp, "\n"));
}

TEST(CommandLine, StrayWordsAreEscaped) {
  LauncherFixture fixture;
  EXPECT_EQ(fixture.run({"--http-port=1", "stray"}).parse_text,
            cat("Unexpected argument: stray\n", kSeeHelp, "\n"));
  EXPECT_THAT(fixture.run({"a\x1b[0m"}).parse_text, StartsWith("Unexpected argument: a\\x1b[0m\n"));
}

}  // namespace
}  // namespace atl::tritonserver
