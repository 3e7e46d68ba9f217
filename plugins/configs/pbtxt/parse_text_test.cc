#include "configs/pbtxt/parse_text.h"

#include <ctime>

#include "configs/pbtxt/nearest.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

std::string failure(const std::string& text, UnknownFields unknown_fields = UnknownFields::kRefuse) {
  auto parsed = parse_text("c.pbtxt", text, unknown_fields);
  return parsed.ok() ? "OK" : parsed.status().text();
}

TEST(ParseText, TakesTheForms) {
  auto parsed = parse_text("c.pbtxt",
                           "# comment\nname: 'm' max_batch_size: 8\n"
                           "input [ { name: \"a\" dims: [ 1, -1 ] }, < name: \"b\" > ]\n"
                           "input { name: \"c\" \"d\", dims: 3; dims: 4 }\n"
                           "parameters { key: \"k\" value: { string_value: \"v\" } }\n",
                           UnknownFields::kRefuse);
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  EXPECT_EQ(parsed->config.input_size(), 3);
  EXPECT_EQ(parsed->config.input(2).name(), "cd");
  EXPECT_EQ(parsed->config.input(0).dims(1), -1);
  EXPECT_EQ(failure(""), "OK");
}

TEST(ParseText, NamesUnknownFieldsAllAtOnceWithTheNearest) {
  EXPECT_EQ(failure("max_batchsize: 8\n"),
            "c.pbtxt:1:1: field 'max_batchsize': unknown field 'max_batchsize' in ModelConfig, did you mean "
            "'max_batch_size'?");
  EXPECT_EQ(
      failure("name: \"m\"\ninput [\n  { name: \"a\" },\n  { name: \"b\"\n    datatype: TYPE_FP32 }\n]\n"
              "dynamic_batching { max_queue_delay: 5 }\nzzz { a: 1 b { c: [1, 2] } }\n"),
      "c.pbtxt:5:5: field 'input[1].datatype': unknown field 'datatype' in ModelInput, did you mean "
      "'data_type'?; "
      "c.pbtxt:7:20: field 'dynamic_batching.max_queue_delay': unknown field 'max_queue_delay' in "
      "ModelDynamicBatching, did you mean 'max_queue_delay_microseconds'?; "
      "c.pbtxt:8:1: field 'zzz': unknown field 'zzz' in ModelConfig");
}

TEST(ParseText, WarnsOfUnknownFieldsOnDemand) {
  auto parsed = parse_text("c.pbtxt", "new_thing { a: 1 }\nmax_batch_size: 8\n", UnknownFields::kWarn);
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  EXPECT_EQ(parsed->config.max_batch_size(), 8);
  EXPECT_EQ(parsed->warnings, (std::vector<std::string>{"c.pbtxt:1:1: field 'new_thing': unknown field "
                                                        "'new_thing' in ModelConfig"}));
  EXPECT_EQ(failure("new_thing: 1\nmax_batch_size: true", UnknownFields::kWarn),
            "c.pbtxt:2:17: field 'max_batch_size': Expected integer, got: true");
}

TEST(ParseText, NamesUnknownEnumValuesWithTheNearest) {
  EXPECT_EQ(failure("input [ { name: \"a\"\n data_type: TYPE_FP23 } ]\ninstance_group { kind: KIND_CPUS }"),
            "c.pbtxt:2:13: field 'input[0].data_type': unknown value 'TYPE_FP23' of DataType, did you mean "
            "'TYPE_FP32'?; "
            "c.pbtxt:3:24: field 'instance_group[0].kind': unknown value 'KIND_CPUS' of "
            "ModelInstanceGroup.Kind, did you mean 'KIND_CPU'?");
  EXPECT_EQ(failure("input { data_type: FP32 }"),
            "c.pbtxt:1:20: field 'input[0].data_type': unknown value 'FP32' of DataType, did you mean "
            "'TYPE_FP32'?");
  EXPECT_EQ(
      failure("input { data_type: 99 }"),
      "c.pbtxt:1:9: field 'input[0].data_type': 'input[0].data_type' is 99, expected a value of DataType");
}

TEST(ParseText, PointsAtTheFieldThatIsWrong) {
  struct Case {
    const char* text;
    const char* message;
  } cases[] = {
      {"max_batch_size: \"x\"", "c.pbtxt:1:17: field 'max_batch_size': Expected integer, got: \"x\""},
      {"max_batch_size: 2147483648",
       "c.pbtxt:1:17: field 'max_batch_size': Integer out of range (2147483648)"},
      {"name: \"a\"\nname: \"b\"\nbackend: \"c\"",
       "c.pbtxt:2:1: field 'name': Non-repeated field \"name\" is specified multiple times."},
      {"input { optional: maybe\n }",
       "c.pbtxt:1:9: field 'input[0].optional': Invalid value for boolean field \"optional\". Value: "
       "\"maybe\"."},
      {"input {\n  dims: [ 1, x ]\n}", "c.pbtxt:2:14: field 'input[0].dims[1]': Expected integer, got: x"},
      {"input { name: \"a\"", "c.pbtxt:1:18: field 'input[0].name': Expected identifier, got: "},
      {"}", "c.pbtxt:1:1: Expected identifier, got: }"},
      {"name \"a\"", "c.pbtxt:1:6: field 'name': Expected \":\", found \"\"a\"\"."},
      {"name: \"a", "c.pbtxt:1:9: field 'name': Unexpected end of string."},
      {"dynamic_batching { } sequence_batching { }",
       "c.pbtxt:1:22: field 'sequence_batching': Field \"sequence_batching\" is specified along with field "
       "\"dynamic_batching\", another member of oneof \"scheduling_choice\"."},
  };
  for (const Case& c : cases) EXPECT_EQ(failure(c.text), c.message) << c.text;
}

TEST(ParseText, TellsAllWrongValuesAtOnce) {
  EXPECT_EQ(failure("backend: \"python\"\nmax_batch_size: \"four\"\n"
                    "input [ { name: \"A\" dims: [ \"x\", 1, -y ] }, { dims: 99999999999999999999 } ]\n"
                    "output [ { name: 5 optional: maybe } ]\n"
                    "dynamic_batching { max_queue_delay_microseconds: -5 preserve_ordering: 2 }\n"
                    "input: 3\nversion_policy: 1\ninstance_group { kind: \"x\" passive: yes }\n"),
            "c.pbtxt:2:17: field 'max_batch_size': Expected integer, got: \"four\"; "
            "c.pbtxt:3:29: field 'input[0].dims[0]': Expected integer, got: \"x\"; "
            "c.pbtxt:3:38: field 'input[0].dims[2]': Expected integer, got: y; "
            "c.pbtxt:3:53: field 'input[1].dims[0]': Integer out of range (99999999999999999999); "
            "c.pbtxt:4:18: field 'output[0].name': Expected string, got: 5; "
            "c.pbtxt:4:20: field 'output[0].optional': unknown field 'optional' in ModelOutput; "
            "c.pbtxt:5:50: field 'dynamic_batching.max_queue_delay_microseconds': Expected integer, got: -; "
            "c.pbtxt:5:72: field 'dynamic_batching.preserve_ordering': Integer out of range (2); "
            "c.pbtxt:6:8: field 'input[2]': Expected \"{\", found \"3\".; "
            "c.pbtxt:7:17: field 'version_policy': Expected \"{\", found \"1\".; and more");
  EXPECT_EQ(failure("x: 1\ninput { dims: [ 1, y ] data_type: TYPE_FP31 }"),
            "c.pbtxt:1:1: field 'x': unknown field 'x' in ModelConfig; "
            "c.pbtxt:2:20: field 'input[0].dims[1]': Expected integer, got: y; "
            "c.pbtxt:2:35: field 'input[0].data_type': unknown value 'TYPE_FP31' of DataType, did you mean "
            "'TYPE_FP32'?");
}

TEST(ParseText, TellsWhatStandsBehindRepeatedFields) {
  EXPECT_EQ(
      failure("dynamic_batching { }\nmax_batch_size: 4\nsequence_batching { }\nmax_batch_size: \"x\"\n"
              "ensemble_scheduling { }\nname: 1"),
      "c.pbtxt:3:1: field 'sequence_batching': Field \"sequence_batching\" is specified along with field "
      "\"dynamic_batching\", another member of oneof \"scheduling_choice\".; "
      "c.pbtxt:4:1: field 'max_batch_size': Non-repeated field \"max_batch_size\" is specified multiple "
      "times.; "
      "c.pbtxt:4:17: field 'max_batch_size': Expected integer, got: \"x\"; "
      "c.pbtxt:5:1: field 'ensemble_scheduling': Field \"ensemble_scheduling\" is specified along with "
      "field \"dynamic_batching\", another member of oneof \"scheduling_choice\".; "
      "c.pbtxt:6:7: field 'name': Expected string, got: 1");
  // Different messages, elements and maps may have the same fields.
  EXPECT_EQ(failure("input { name: 'a' } input { name: 'b' } parameters { key: 'a' value { } }\n"
                    "parameters { key: 'b' value { } } instance_group [ { count: 1 }, { count: 1 } ] x: 1"),
            "c.pbtxt:2:81: field 'x': unknown field 'x' in ModelConfig");
}

TEST(ParseText, DoesNotTakeNamesForValuesBehindAMistakeOfForm) {
  EXPECT_EQ(failure("max_batch_size: 'x'\nname \"m\"\nbackend: 4\nmax_batch_size: 4\ninput { dims: 1 }"),
            "c.pbtxt:1:17: field 'max_batch_size': Expected integer, got: 'x'; "
            "c.pbtxt:2:6: field 'name': Expected \":\", found \"\"m\"\".");
  EXPECT_EQ(failure("name \"m\"\nmax_batch_size: 4\nbackend: 4"),
            "c.pbtxt:1:6: field 'name': Expected \":\", found \"\"m\"\".");
  EXPECT_EQ(failure("max_batch_size { }\nbackend: 4"),
            "c.pbtxt:1:16: field 'max_batch_size': Expected \":\", found \"{\".; "
            "c.pbtxt:2:10: field 'backend': Expected string, got: 4");
}

/// What the parser takes has to be what the walk through the text takes.
TEST(ParseText, ValuesThatTheParserTakesAreNotRefused) {
  for (const char* taken :
       {"max_batch_size: 0x10", "max_batch_size: 010", "max_batch_size: -1", "input { dims: -1 optional: t }",
        "input { dims: [ -9223372036854775808, 9223372036854775807 ] optional: 1 }", "name: 'a' \"b\"",
        "input { data_type: 3 optional: False }",
        "sequence_batching { direct { minimum_slot_utilization: 1 } }",
        "sequence_batching { direct { minimum_slot_utilization: -1.5e3f } }",
        "sequence_batching { control_input { control { fp32_false_true: [ -inf, NaN, 1, -.5 ] } } }",
        "dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }", "input: { name: 'a' }",
        "input: [ { name: 'a' }, { } ]", "parameters: { key: 'k' value: { string_value: 'v' } }",
        "version_policy: { all: { } }", "version_policy < latest < num_versions: 4 > >"}) {
    EXPECT_EQ(failure(taken), "OK") << taken;
    EXPECT_EQ(failure(cat(taken, "\nzzz: 1")), "c.pbtxt:2:1: field 'zzz': unknown field 'zzz' in ModelConfig")
        << taken;
    EXPECT_TRUE(
        failure(cat(taken, "\nbackend: 4")).starts_with("c.pbtxt:2:10: field 'backend': Expected string"))
        << failure(cat(taken, "\nbackend: 4"));
  }
}

TEST(ParseText, RefusesStringsThatAreNotUtf8) {
  EXPECT_EQ(failure("name: \"m\"\nbackend: \"\\377\""),
            "c.pbtxt:2:1: field 'backend': 'backend' holds bytes that are not valid UTF-8");
  EXPECT_EQ(failure("parameters { key: \"\xc3\" value { } }"),
            "c.pbtxt:1:14: field 'parameters.key': 'parameters.key' holds bytes that are not valid UTF-8");
}

TEST(ParseText, BoundsSizeNestingAndNumberOfErrors) {
  EXPECT_EQ(failure(std::string(kTextBytesMax + 1, ' ')),
            "c.pbtxt: has 16777217 bytes, expected at most 16777216");
  EXPECT_EQ(failure(std::string(kTextBytesMax, '\n')), "OK");
  for (const char* open : {"a { ", "input { ", "a: < ", "a: [ { "}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += open;
    std::string message = failure(deep);
    EXPECT_NE(message, "OK");
    EXPECT_LT(message.size(), 20'000u) << open;
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x: 1\n";
  std::string message = failure(many);
  EXPECT_TRUE(message.ends_with("c.pbtxt:10:1: field 'x': unknown field 'x' in ModelConfig; and more"))
      << message;
}

TEST(ParseText, LongListsTakeLinearTime) {
  std::string text = "input { dims: [ 1";
  for (int i = 0; i < 1'000'000; ++i) text += ",1";
  text += " ] unknown: 1 }";
  const std::clock_t begin = std::clock();  // of this process: other work on the machine does not count
  EXPECT_EQ(failure(text), cat("c.pbtxt:1:", text.size() - 11,
                               ": field 'input[0].unknown': unknown field 'unknown' in ModelInput"));
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 20);
}

TEST(ReadText, KnowsWhatItCouldRead) {
  auto reading = read_text("c.pbtxt", "x: 1\nmax_batch_size: 8\ny { }", UnknownFields::kRefuse, 100);
  EXPECT_TRUE(reading.complete);
  EXPECT_EQ(reading.config.max_batch_size(), 8);
  ASSERT_EQ(reading.errors.size(), 2u);
  EXPECT_EQ(reading.errors[0].field, "x");
  EXPECT_EQ(reading.errors[1].line, 2);
  EXPECT_EQ(reading.source.find("max_batch_size").line, 2);

  reading = read_text("c.pbtxt", "x: 1\nmax_batch_size: y", UnknownFields::kRefuse, 100);
  EXPECT_FALSE(reading.complete);
  EXPECT_EQ(reading.errors.size(), 2u);

  reading = read_text("c.pbtxt", std::string(kTextBytesMax + 1, ' '), UnknownFields::kRefuse, 100);
  EXPECT_FALSE(reading.complete);
  ASSERT_EQ(reading.errors.size(), 1u);
  EXPECT_EQ(reading.errors[0].line, -1);
}

TEST(Nearest, TakesTheOnlyOneThatBeginsOrEndsWithIt) {
  EXPECT_EQ(nearest("FP32", {"TYPE_FP32", "TYPE_FP64"}), "TYPE_FP32");
  EXPECT_EQ(nearest("int8", {"TYPE_INT8", "TYPE_UINT8"}), "TYPE_INT8");
  EXPECT_EQ(nearest("max_queue_delay", {"max_queue_delay_microseconds", "max"}),
            "max_queue_delay_microseconds");
  EXPECT_EQ(nearest("pinned_memory", {"input_pinned_memory", "output_pinned_memory"}), std::nullopt);
  EXPECT_EQ(nearest("queue", {"max_queue_delay"}), std::nullopt);
}

TEST(Nearest, TakesTheOnlyOneThatHasTheWords) {
  EXPECT_EQ(nearest("gpu_accelerator", {"gpu_execution_accelerator", "cpu_execution_accelerator"}),
            "gpu_execution_accelerator");
  EXPECT_EQ(nearest("int32_true_false", {"int32_false_true", "fp32_false_true"}), "int32_false_true");
  EXPECT_EQ(nearest("zeros", {"zero_data", "random_data"}), "zero_data");
  EXPECT_EQ(nearest("label_file", {"label_filename", "name"}), "label_filename");
  EXPECT_EQ(nearest("model", {"model_name", "model_version"}), std::nullopt);
  EXPECT_EQ(nearest("delay", {"max_queue_delays_us"}), std::nullopt);
  EXPECT_EQ(nearest("_", {"a"}), "a");
}

TEST(Nearest, PrefersFewestChanges) {
  std::vector<std::string> known = {"max_batch_size", "model_warmup", "name", "input", "output"};
  EXPECT_EQ(nearest("max_batch_sise", known), "max_batch_size");
  EXPECT_EQ(nearest("MAX_BATCH_SIZE", known), "max_batch_size");
  EXPECT_EQ(nearest("nmae", known), "name");
  EXPECT_EQ(nearest("inputs", known), "input");
  EXPECT_EQ(nearest("completely_different", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000, 'x'), known), std::nullopt);
  EXPECT_EQ(nearest("name", {}), std::nullopt);
}

TEST(Places, OfRulesPointIntoTheText) {
  Status status = read_status(
      "backend: \"b\"\n\nmax_batch_size: 4\ndynamic_batching {\n"
      "  preferred_batch_size: [ 2, 8 ]\n}\n");
  EXPECT_EQ(status.message(), "dynamic batching preferred size must be <= max batch size for m");
  EXPECT_EQ(status.text(),
            "/models/m/config.pbtxt:5:3: field 'dynamic_batching.preferred_batch_size[1]': dynamic batching "
            "preferred size must be <= max batch size for m");
  EXPECT_EQ(read_status("max_batch_size: -1 backend: \"b\"").text(),
            "/models/m/config.pbtxt:1:1: field 'max_batch_size': 'max_batch_size' must be non-negative value "
            "for m");
  // Nothing was written: the file alone.
  EXPECT_EQ(
      read_status("platform: \"\"").text(),
      "/models/m/config.pbtxt: field 'backend': Invalid model name: Could not determine backend for model "
      "'m' with no backend in model configuration. Expected model name of the form "
      "'model.<backend_name>'. The model has no version directory: expected a directory '1' with one of "
      "model.onnx, model.py, model.plan, model.pt, model.pt2, model.xml, model.gguf, model.savedmodel, model.graphdef, "
      "model.tflite, model.pdmodel, model.saved_model");
}

TEST(Places, OfElementsInBracketsAreTheirFirstFields) {
  auto reading = read_text("c.pbtxt",
                           "input [\n { dims: 1\n name: 'a' },\n { },\n {\n   name: 'c' } ]\n"
                           "output { name: 'o' }\n  output { name: 'p' }\n",
                           UnknownFields::kRefuse, 10);
  struct Case {
    const char* field;
    int line, column;
  } cases[] = {{"input[0]", 2, 4},         {"input[0].name", 3, 2}, {"input[0].data_type", 2, 4},
               {"input[1]", 1, 1},         {"input[2]", 6, 4},      {"input[2].dims", 6, 4},
               {"output[0]", 7, 1},        {"output[1]", 8, 3},     {"output[1].name", 8, 12},
               {"instance_group[0]", 0, 0}};
  for (const Case& c : cases) {
    auto place = reading.source.find(c.field);
    EXPECT_EQ(place.line, c.line) << c.field;
    EXPECT_EQ(place.column, c.column) << c.field;
  }
}

}  // namespace
}  // namespace atl::pbtxt
