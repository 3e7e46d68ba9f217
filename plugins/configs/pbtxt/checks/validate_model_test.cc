#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

TEST(ValidateModel, Identity) {
  expect_messages(
      "",
      {
          {"backend: 'b'", "OK"},
          {"platform: 'caffe'", "unexpected platform type 'caffe' for m"},
          {"backend: 'b' platform: 'ensemble'",
           "Ensemble model 'm' must have platform type 'ensemble' and empty backend type"},
          {"backend: 'pytorch' platform: 'libtorch'",
           "unexpected 'platform' and 'backend' pair, got:libtorch, pytorch"},
          {"backend: 'onnxruntime' platform: 'tensorrt_plan'",
           "unexpected 'platform' and 'backend' pair, got:tensorrt_plan, onnxruntime"},
          {"backend: 'tensorrt' platform: 'x'", "unexpected 'platform' and 'backend' pair, got:x, tensorrt"},
          {"backend: 'tensorflow'", "unexpected 'platform' and 'backend' pair, got:, tensorflow"},
          {"backend: 'python' platform: 'anything'", "OK"},
          {"backend: 'b' max_batch_size: -1", "'max_batch_size' must be non-negative value for m"},
          {"backend: 'b' max_batch_size: 2147483647", "OK"},
          {"backend: 'b' version_policy { }", "must specify 'version policy' for m"},
          {"platform: 'ensemble'",
           "ensemble scheduling must be set for ensemble m whose platform is ensemble"},
          {"backend: 'b' model_transaction_policy { decoupled: true } response_cache { enable: true }",
           "Response Cache does not currently support model m with 'decoupled' transaction policy. Please "
           "disable the response cache."},
          {"backend: 'b' name: 'other'",
           "unexpected directory name 'm' for model 'other', directory name must equal model name"},
      });
}

TEST(ValidateModel, NameMustNotBeEmpty) {
  inference::ModelConfig config;
  EXPECT_EQ(validate_model(config, SourceMap()).text(), "model configuration must specify 'name'");
}

TEST(ValidateModel, RulesComeInTheirOrder) {
  EXPECT_EQ(read_message("name: 'other' backend: 'b' max_batch_size: -1 dynamic_batching { "
                         "preferred_batch_size: -1 }"),
            "'max_batch_size' must be non-negative value for other");
}

TEST(ValidateModel, Metrics) {
  const std::string family = "metric_identifier { family: 'f' } ";
  auto control = [](const std::string& text) { return "metric_control { " + text + " } }"; };
  expect_messages(
      "backend: 'b' model_metrics { ",
      {{control(""), "metric control must specify 'metric_identifier'"},
       {control("metric_identifier { }"), "metric identifier must specify non-empty 'family'"},
       {control(family), "metric control must specify 'histogram_options'"},
       {control(family + "histogram_options { }"), "histogram options must specify non-empty 'buckets'"},
       {control(family + "histogram_options { buckets: [ 1, 2 ] }"), "OK"},
       {control(family + "histogram_options { buckets: [ 2, 2 ] }"),
        "histogram options of 'f' must list 'buckets' in ascending order"},
       {control(family + "histogram_options { buckets: nan }"),
        "histogram options of 'f' must list 'buckets' in ascending order"}});
}

TEST(ValidateDynamicBatching, EveryRule) {
  expect_messages(
      "backend: 'b' max_batch_size: 8 dynamic_batching { ",
      {{"preferred_batch_size: [ 4, 8 ] }", "OK"},
       {"preferred_batch_size: 0 }", "dynamic batching preferred size must be positive for m"},
       {"preferred_batch_size: [ 4, -1 ] }", "dynamic batching preferred size must be positive for m"},
       {"preferred_batch_size: 9 }", "dynamic batching preferred size must be <= max batch size for m"},
       {"priority_levels: 3 }", "default priority level must be in range [1, 3] for m"},
       {"priority_levels: 3 default_priority_level: 4 }",
        "default priority level must be in range [1, 3] for m"},
       {"priority_levels: 3 default_priority_level: 3 }", "OK"},
       {"priority_levels: 3 default_priority_level: 3 priority_queue_policy { key: 0 value { } } }",
        "priority queue policy must have priority level in range [1, 3] for m"},
       {"priority_levels: 3 default_priority_level: 3 priority_queue_policy { key: 4 value { } } }",
        "priority queue policy must have priority level in range [1, 3] for m"},
       {"priority_queue_policy { key: 1 value { } } }", "OK"},
       {"priority_levels: 18446744073709551615 default_priority_level: 4294967296 "
        "priority_queue_policy { key: 4294967296 value { default_timeout_microseconds: "
        "18446744073709551615 } } }",
        "OK"},
       {"max_queue_delay_microseconds: 18446744073709551615 default_queue_policy { "
        "default_timeout_microseconds: 18446744073709551615 } }",
        "OK"},
       {"preserve_ordering: true priority_levels: 2 default_priority_level: 1 }",
        "Only one priority level is allowed when 'preserve_ordering' is true for m"},
       {"preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: "
        "1 } }",
        "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m"},
       {"preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 "
        "value { timeout_action: DELAY default_timeout_microseconds: 1 } } }",
        "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m"},
       {"preserve_ordering: true default_queue_policy { timeout_action: DELAY } }", "OK"}});
  EXPECT_EQ(read_message("backend: 'b' dynamic_batching { preferred_batch_size: 1 }"),
            "dynamic batching preferred size must be <= max batch size for m");
}

TEST(ValidateLimits, TimesOfSequences) {
  expect_messages(
      "backend: 'b' ",
      {{"sequence_batching { max_sequence_idle_microseconds: 9223372036854775 }", "OK"},
       {"sequence_batching { max_sequence_idle_microseconds: 9223372036854776 }",
        "'sequence_batching.max_sequence_idle_microseconds' of model 'm' is 9223372036854776, expected at "
        "most 9223372036854775"},
       {"sequence_batching { max_sequence_idle_microseconds: 18446744073709551615 }",
        "'sequence_batching.max_sequence_idle_microseconds' of model 'm' is 18446744073709551615, expected "
        "at most 9223372036854775"},
       {"sequence_batching { direct { max_queue_delay_microseconds: 18446744073709551615 } }",
        "'sequence_batching.direct.max_queue_delay_microseconds' of model 'm' is 18446744073709551615, "
        "expected at most 9223372036854775"},
       {"sequence_batching { oldest { max_queue_delay_microseconds: 18446744073709551615 } }",
        "'sequence_batching.oldest.max_queue_delay_microseconds' of model 'm' is 18446744073709551615, "
        "expected at most 9223372036854775"}});
}

TEST(ValidateRateLimiter, EveryRule) {
  expect_messages(
      "backend: 'b' instance_group { rate_limiter { resources ",
      {{"{ name: 'R' count: 1 } } }", "OK"},
       {"{ count: 1 } } }", "rate limiter resource must have a name for m"},
       {"{ name: 'R' } } }", "rate limiter resource 'R' has 'count' 0, expected at least 1 for m"},
       {"{ name: 'R' count: 1 } } } instance_group { rate_limiter { resources { name: 'R' count: 1 global: "
        "true } } }",
        "Resource \"R\" is present as both global and device-specific resource in the model "
        "configuration."}});
}

TEST(ValidatePaths, NothingLeadsOut) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "..", "a/..", "a\\000b"}) {
    for (const char* field : {"default_model_filename"}) {
      std::string message = read_message(cat("backend: 'b' ", field, ": '", path, "'"));
      EXPECT_NE(message.find("' of model 'm' is '"), std::string::npos) << message;
    }
  }
  expect_messages(
      "backend: 'b' ",
      {{"default_model_filename: 'a/b..c/d'", "OK"},
       {"default_model_filename: '../x'",
        "'default_model_filename' of model 'm' is '../x', expected a relative path without '..'"},
       {"cc_model_filenames { key: '7.5' value: '/x' }",
        "'cc_model_filenames' of model 'm' is '/x', expected a relative path without '..'"},
       {"parameters { key: 'TRITON_BATCH_STRATEGY_PATH' value { string_value: '../s.so' } }",
        "parameter 'TRITON_BATCH_STRATEGY_PATH' of model 'm' is '../s.so', expected a relative path without "
        "'..'"},
       {"parameters { key: 'TRITON_BATCH_STRATEGY_PATH' value { string_value: 's.so' } }", "OK"},
       {"parameters { key: 'TRITON_BATCH_STRATEGY_PATH' value { string_value: 's.so' } } sequence_batching { "
        "}",
        "TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default batching "
        "strategy"},
       {"parameters { key: 'other' value { string_value: '../s.so' } }", "OK"},
       {"runtime: '../libx.so'",
        "backend library name '../libx.so' escapes backend directory of backend 'b', for model 'm', check "
        "model config runtime field"},
       {"model_repository_agents { agents { name: '../a' } }",
        "'model_repository_agents.agents[0].name' of model 'm' is '../a', expected a name without path"},
       {"model_warmup { inputs { key: 'i' value { input_data_file: '/f' data_type: TYPE_INT8 dims: 1 } } }",
        "'model_warmup[0].inputs' of model 'm' is '/f', expected a relative path without '..'"},
       {"sequence_batching { state { input_name: 'i' output_name: 'o' data_type: TYPE_INT8 dims: 1 "
        "initial_state { data_file: '../f' } } }",
        "'sequence_batching.state[0].initial_state[0].data_file' of model 'm' is '../f', expected a relative "
        "path without '..'"}});
  EXPECT_EQ(read_message("backend: 'a/b'"), "'backend' of model 'm' is 'a/b', expected a name without path");
  EXPECT_EQ(read_message("backend: '..'"), "'backend' of model 'm' is '..', expected a name without path");
  Status label = read_status("backend: 'b' output { name: 'o' label_filename: '../labels.txt' }");
  EXPECT_EQ(label.code(), Code::kUnimplemented);
  EXPECT_EQ(
      label.message(),
      "label file path '/models/m/../labels.txt' for output 'o' in model 'm' is outside model directory");
  auto named = model_with("backend: 'b' output { name: 'o' label_filename: '/l' }");
  named.config_path = "/models/m/configs/wide.pbtxt";
  EXPECT_EQ(PbtxtModelConfigs({}, nullptr).read(named, false).status().message(),
            "label file path '/models/m//l' for output 'o' in model 'm' is outside model directory");
}

TEST(ValidateAgents, AreWhoeverLoadsModelsToRun) {
  EXPECT_EQ(read_message("backend: 'b' model_repository_agents { agents [ { name: 'checksum' } ] }"), "OK");
  EXPECT_EQ(read_message("backend: 'b' model_repository_agents { }"), "OK");
}

TEST(Parse, ShowsWhatIsWrittenAndNothingElse) {
  PbtxtModelConfigs configs({}, nullptr);
  auto config_of = [](Result<std::string> bytes) {
    inference::ModelConfig config;
    EXPECT_TRUE(bytes.ok()) << bytes.status().text();
    if (bytes.ok()) config.ParseFromString(*bytes);
    return config.ShortDebugString();
  };
  // Neither complete nor right: an agent may lead to what is.
  auto model = model_with("max_batch_size: -1 model_repository_agents { agents { name: 'a' } }");
  EXPECT_EQ(config_of(configs.parse(model)),
            R"(max_batch_size: -1 model_repository_agents { agents { name: "a" } })");
  EXPECT_EQ(config_of(configs.parse_json(model, R"({"max_batch_size":2})")), "max_batch_size: 2");
  EXPECT_EQ(configs.parse(model_with("backend: ")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(configs.parse_json(model, "[]").status().code(), Code::kInvalidArgument);
  model.config_path.clear();
  EXPECT_EQ(config_of(configs.parse(model)), "");
}

TEST(ValidateWarmup, EveryRule) {
  auto ones = [](int rank) {
    std::string text = "data_type: TYPE_INT8 zero_data: true";
    for (int i = 0; i < rank; ++i) text += " dims: 1";
    return text;
  };
  auto input = [](const std::string& text) {
    return "model_warmup { name: 's' inputs { key: 'i' value { " + text + " } } }";
  };
  expect_messages(
      "backend: 'b' ",
      {{input("data_type: TYPE_FP32 dims: [ 2, 2 ] zero_data: true"), "OK"},
       {input("dims: 1 zero_data: true"), "warmup setting expects input 'i' to have data_type set"},
       {input("data_type: TYPE_FP32 dims: 1"),
        "warmup setting expects input 'i' to have input_data_type set"},
       {input("data_type: TYPE_FP32 dims: [ 1, -1 ] random_data: true"),
        "warmup setting expects all variable-size dimensions are specified for input 'i'"},
       {input("data_type: TYPE_FP32 dims: 300000000 zero_data: true"),
        "warmup input 'i' takes more than 1073741824 bytes"},
       {input("data_type: TYPE_FP32 dims: [ 4611686018427387904, 4611686018427387904 ] zero_data: true"),
        "element count for tensor 'i' exceeds maximum size of 9223372036854775807"},
       {input("data_type: TYPE_FP32 dims: 4611686018427387904 zero_data: true"),
        "byte size for tensor 'i' exceeds maximum size of 9223372036854775807"},
       {"model_warmup { name: 's' count: 1000000000 }",
        "'count' of warmup sample 's' is 1000000000, expected at most 100000"},
       {input(ones(32)), "OK"},
       {input(ones(33)),
        "warmup input 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {"max_batch_size: 1 " + input(ones(32)),
        "warmup input 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {"model_warmup { name: 's' batch_size: 4000000000 }", "OK"}});
  expect_messages("backend: 'b' max_batch_size: 4 model_warmup { name: 's' batch_size: ",
                  {{"4 }", "OK"}, {"5 }", "'batch_size' of warmup sample 's' is 5, expected at most 4"}},
                  true);
  EXPECT_EQ(read_message("backend: 'b' model_warmup { name: 's' batch_size: 2 }", true),
            "'batch_size' of warmup sample 's' is 2, expected at most 1");
}

}  // namespace
}  // namespace atl::pbtxt
