#include "telemetry/trace/settings.h"

#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

class TraceOptions : public ::testing::Test {
 protected:
  TraceOptions() { set_default_options(options_); }
  std::string error() {
    auto config = read_config(options_);
    EXPECT_FALSE(config.ok());
    EXPECT_EQ(config.status().code(), Code::kInvalidArgument);
    return std::string(config.status().message());
  }
  uint32_t level(std::vector<std::string> words) {
    options_.set_strings("level", std::move(words)).set_string("trace_file", "f");
    auto config = read_config(options_);
    EXPECT_TRUE(config.ok());
    return config->defaults.level;
  }
  test::FakeOptions options_;
};

TEST_F(TraceOptions, Defaults) {
  auto config = read_config(options_);
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_EQ(config->defaults.level, kOff);
  EXPECT_EQ(config->defaults.rate, 1000u);
  EXPECT_EQ(config->defaults.count, -1);
  EXPECT_EQ(config->mode, Mode::kTriton);
  EXPECT_EQ(config->resource.at(0).first, "service.name");
  EXPECT_EQ(config->resource.at(0).second, "triton-inference-server");
}

TEST_F(TraceOptions, Levels) {
  EXPECT_EQ(level({}), kOff);
  for (const char* word : {"TIMESTAMPS", "true", "on", "min", "max"}) EXPECT_EQ(level({word}), kTimestamps);
  EXPECT_EQ(level({"TENSORS"}), kTensors);
  EXPECT_EQ(level({"TENSORS", "TIMESTAMPS"}), kTensors | kTimestamps);
  EXPECT_EQ(level({"TENSORS", "OFF"}), kOff);
  EXPECT_EQ(level({"false", "TIMESTAMPS"}), kOff);
  options_.set_strings("level", {"LOUD"});
  EXPECT_EQ(error(),
            "invalid value for trace level option: found 'LOUD', expected OFF, TIMESTAMPS or TENSORS");
}

TEST_F(TraceOptions, CombinationsThatCanNotTrace) {
  options_.set_strings("level", {"TIMESTAMPS"});
  EXPECT_EQ(error(), "Attempting to set invalid trace setting :trace file name is not given");
  options_.set_string("trace_file", "f").set_int("rate", 0);
  EXPECT_EQ(error(), "Attempting to set invalid trace setting :sample rate must be non-zero");
  options_.set_string("mode", "opentelemetry").set_string("trace_file", "");
  EXPECT_TRUE(read_config(options_).ok()) << "rate 0 means incoming contexts only";
}

TEST_F(TraceOptions, ResourceAttributes) {
  options_.set_strings("resource", {"a=b", "c=d=e", "f="});
  auto config = read_config(options_);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->resource.at(1).second, "d=e");
  EXPECT_EQ(config->resource.at(2).second, "");
  for (const char* wrong : {"", "a", "=b"}) {
    options_.set_strings("resource", {wrong});
    EXPECT_EQ(error(), cat("option 'resource' has '", wrong, "', expected key=value"));
  }
}

TEST_F(TraceOptions, ABatchFitsIntoTheQueue) {
  options_.set_int("bsp_max_queue_size", 100).set_int("bsp_max_export_batch_size", 100);
  EXPECT_TRUE(read_config(options_).ok());
  options_.set_int("bsp_max_export_batch_size", 101);
  EXPECT_EQ(error(),
            "option 'bsp_max_export_batch_size' is 101, expected at most bsp_max_queue_size, which is 100");
}

Status change(std::string key, std::vector<std::string> values, OwnValues* own = nullptr) {
  TraceSetting one{std::move(key), std::move(values)};
  auto result = changed(own == nullptr ? OwnValues() : *own, {&one, 1});
  if (!result.ok()) return std::move(result).status();
  if (own != nullptr) *own = result.value();
  return {};
}

TEST(TraceChanges, NumbersAreReadInTheirRanges) {
  struct {
    const char *key, *text, *error;
  } cases[] = {
      {"trace_rate", "0", ""},
      {"trace_rate", "4294967295", ""},
      {"trace_rate", "4294967296",
       "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 4294967296"},
      {"trace_rate", "-1", "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: -1"},
      {"trace_rate", "99999999999999999999",
       "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 99999999999999999999"},
      {"trace_rate", "x", "Unable to parse 'trace_rate', got: x"},
      {"trace_rate", "1x", "Unable to parse 'trace_rate', got: 1x"},
      {"trace_rate", "", "Unable to parse 'trace_rate', got: "},
      {"log_frequency", "4294967295", ""},
      {"log_frequency", "4294967296",
       "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: 4294967296"},
      {"trace_count", "-1", ""},
      {"trace_count", "2147483647", ""},
      {"trace_count", "-2", "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"},
      {"trace_count", "2147483648",
       "Unable to parse 'trace_count', value is out of range [ -2147483648, 2147483647 ], got: 2147483648"},
      {"trace_count", "one", "Unable to parse 'trace_count', got: one"},
  };
  for (const auto& one : cases) {
    Status status = change(one.key, {one.text});
    EXPECT_EQ(status.message(), one.error) << one.key << " " << one.text;
    EXPECT_EQ(status.code(), status.ok() ? Code::kOk : Code::kInvalidArgument);
  }
  for (const char* key : {"trace_rate", "trace_count", "log_frequency"}) {
    EXPECT_EQ(change(key, {"1", "2"}).message(), cat("expect only 1 value for '", key, "'"));
  }
}

TEST(TraceChanges, Levels) {
  OwnValues own;
  EXPECT_TRUE(change("trace_level", {"TIMESTAMPS", "TENSORS"}, &own).ok());
  EXPECT_EQ(own.level, kTimestamps | kTensors);
  EXPECT_TRUE(change("trace_level", {"OFF"}, &own).ok());
  EXPECT_EQ(own.level, kOff);
  EXPECT_EQ(change("trace_level", {"OFF", "TENSORS"}).message(),
            "Expect only one trace level 'OFF' is specified");
  EXPECT_EQ(change("trace_level", {"TENSORS", "OFF"}).message(),
            "Expect only one trace level 'OFF' is specified");
  EXPECT_TRUE(change("trace_level", {"loud", "TENSORS"}, &own).ok()) << "other words are ignored";
  EXPECT_EQ(own.level, kTensors);
}

TEST(TraceChanges, AnEmptyListClears) {
  OwnValues own;
  for (const char* key : {"trace_rate", "trace_count", "log_frequency"}) {
    EXPECT_TRUE(change(key, {"7"}, &own).ok());
  }
  EXPECT_TRUE(change("trace_level", {"OFF"}, &own).ok());
  EXPECT_EQ(own.over({}).rate, 7u);
  EXPECT_EQ(own.over({}).count, 7);
  EXPECT_EQ(own.over({}).log_frequency, 7u);
  for (const char* key : {"trace_rate", "trace_count", "log_frequency", "trace_level"}) {
    EXPECT_FALSE(own.empty());
    EXPECT_TRUE(change(key, {}, &own).ok());
  }
  EXPECT_TRUE(own.empty());
}

TEST(TraceChanges, TheFileStaysAndUnknownKeysAreIgnored) {
  for (std::vector<std::string> values : {std::vector<std::string>{"x"}, {}}) {
    Status status = change("trace_file", values);
    EXPECT_EQ(status.code(), Code::kUnimplemented);
    EXPECT_EQ(status.message(), "trace file location can not be updated through network protocol");
  }
  OwnValues own;
  EXPECT_TRUE(change("trace_mode", {"opentelemetry"}, &own).ok());
  EXPECT_TRUE(own.empty());
}

}  // namespace
}  // namespace atl::tracing
