#include "configs/pbtxt/checks/findings.h"

#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

TEST(Findings, KeepTheirOrderAndTheirPlaces) {
  auto parsed = parse_text("c.pbtxt", "max_batch_size: 4\n  backend: 'b'", UnknownFields::kRefuse);
  ASSERT_TRUE(parsed.ok());
  Findings findings(parsed->source);
  EXPECT_TRUE(findings.first().ok());
  findings.invalid("backend", "second ", 2);
  findings.invalid("name", "third");
  findings.invalid("backend", "second 2");  // known already
  findings.add("backend", internal_error("fourth"));
  ASSERT_EQ(findings.list().size(), 3u);
  EXPECT_EQ(findings.count(), 3u);
  EXPECT_EQ(findings.list()[0].place.line, 2);
  EXPECT_EQ(findings.list()[0].place.column, 3);
  EXPECT_EQ(findings.list()[1].place.line, 0);
  EXPECT_EQ(findings.list()[2].status.code(), Code::kInternal);
  EXPECT_EQ(findings.first().text(), "c.pbtxt:2:3: field 'backend': second 2");
}

TEST(Findings, AreBoundedInNumberAndInBytes) {
  const SourceMap nowhere;
  Findings many(nowhere);
  for (int i = 0; i < 1000; ++i) many.invalid(cat(i), "text");
  EXPECT_EQ(many.list().size(), Findings::kKeptMax);
  EXPECT_EQ(many.count(), 1000u);
  Findings large(nowhere);
  for (int i = 0; i < 10; ++i) large.invalid(cat(i), std::string(600'000, 'x'));
  EXPECT_EQ(large.list().size(), 2u);
  EXPECT_TRUE(large.full());
}

TEST(Findings, EveryBrokenRuleOfAConfigurationIsFound) {
  auto parsed = parse_text("c.pbtxt", R"(backend: 'b' max_batch_size: -1 version_policy { }
dynamic_batching { preferred_batch_size: [ 0, 4 ] priority_levels: 2 preserve_ordering: true }
input [ { name: 'i' }, { dims: 1 }, { name: 'j' data_type: TYPE_INT8 dims: [ 1, 0 ] } ]
output { name: 'o' data_type: TYPE_INT8 dims: 2 reshape { shape: 3 } label_filename: '/l' }
batch_input [ { kind: BATCH_ITEM_SHAPE }, { source_input: 'x' data_type: TYPE_FP32 } ]
instance_group { rate_limiter { resources [ { }, { name: 'r' } ] } }
model_warmup [ { inputs { key: 'i' value { dims: 1 } } }, { batch_size: 3 } ]
model_metrics { metric_control [ { }, { metric_identifier { family: 'f' } } ] }
default_model_filename: '../m')",
                           UnknownFields::kRefuse);
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  parsed->config.set_name("m");
  Findings findings(parsed->source);
  validate_model(parsed->config, findings);
  validate_complete(parsed->config, findings);
  std::vector<std::string> fields;
  for (const Finding& finding : findings.list())
    fields.push_back(cat(finding.place.line, " ", finding.field));
  EXPECT_EQ(fields, (std::vector<std::string>{"1 max_batch_size",
                                              "1 version_policy",
                                              "2 dynamic_batching.preferred_batch_size[0]",
                                              "2 dynamic_batching.preferred_batch_size[1]",
                                              "2 dynamic_batching.default_priority_level",
                                              "2 dynamic_batching.priority_levels",
                                              "8 model_metrics.metric_control[0]",
                                              "8 model_metrics.metric_control[1]",
                                              "9 default_model_filename",
                                              "4 output[0].label_filename",
                                              "6 instance_group[0].rate_limiter.resources[0]",
                                              "6 instance_group[0].rate_limiter.resources[1]",
                                              "7 model_warmup[0].inputs",
                                              "7 model_warmup[0].inputs",
                                              "3 input[0]",
                                              "3 input[1]",
                                              "3 input[2]",
                                              "4 output[0]",
                                              "5 batch_input[0]",
                                              "5 batch_input[0].data_type",
                                              "5 batch_input[1].source_input[0]",
                                              "7 model_warmup[1].batch_size"}));
}

TEST(Findings, OfAnEnsembleStopWhereMoreWouldBeNoise) {
  auto found = [](const std::string& steps) {
    auto config = config_of(
        "name: 'm' platform: 'ensemble' input { name: 'i' } output [ { name: 'o' }, { name: 'p' } ] "
        "ensemble_scheduling { " +
        steps + " }");
    const SourceMap nowhere;
    Findings findings(nowhere);
    validate_ensemble(config, findings);
    std::vector<std::string> texts;
    for (const Finding& finding : findings.list()) texts.emplace_back(finding.status.message());
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(found("step { model_name: 'x' } step { input_map { key: 'a' value: 'b' } }"),
            (Texts{"must specify 'input_map' in step 0 of ensemble 'm'",
                   "must specify 'output_map' in step 0 of ensemble 'm'",
                   "must specify 'model_name' in step 1 of ensemble 'm'",
                   "must specify 'output_map' in step 1 of ensemble 'm'"}));
  EXPECT_EQ(
      found("step { model_name: 'x' input_map { key: 'a' value: 'b' } output_map { key: 'a' value: 'c' } }"),
      (Texts{"ensemble input 'i' for ensemble m' is not used",
             "ensemble output 'o' for ensemble m' is not used",
             "ensemble output 'p' for ensemble m' is not used"}));
  EXPECT_EQ(
      found("step { model_name: 'x' input_map { key: 'a' value: 'i' } output_map { key: 'a' value: 'c' } } "
            "step { model_name: 'x' input_map { key: 'a' value: 'u' } output_map { key: 'a' value: 'o' } "
            "output_map { key: 'b' value: 'p' } }"),
      (Texts{"output 'o' for ensemble 'm' is not written: at least one of its depending tensors, 'u', is not "
             "connected",
             "output 'p' for ensemble 'm' is not written: at least one of its depending tensors, 'u', is not "
             "connected"}));
}

}  // namespace
}  // namespace atl::pbtxt
