#include "configs/pbtxt/instance_groups.h"

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

const BackendTraits kAnywhere{.preferred_groups = {{InstanceKind::kAuto, 0, {}}}};

/// The groups of model 'm' after normalisation: "name kind count [gpus]; ...".
std::string groups(const std::string& text, const BackendTraits& traits = {}, const GpuSet& gpus = {}) {
  auto config = config_of("name: 'm' " + text);
  for (int round = 0; round < 2; ++round) normalise_instance_groups(traits, gpus, &config);
  std::string out;
  for (const auto& group : config.instance_group()) {
    std::vector<int64_t> ids(group.gpus().begin(), group.gpus().end());
    out +=
        cat(out.empty() ? "" : "; ", group.name(), " ",
            inference::ModelInstanceGroup::Kind_Name(group.kind()), " ", group.count(), " ", shape_text(ids));
  }
  return out;
}

TEST(InstanceGroups, DefaultGroup) {
  EXPECT_EQ(groups(""), "m KIND_CPU 1 []");
  EXPECT_EQ(groups("backend: 'onnxruntime'"), "m KIND_CPU 2 []");
  EXPECT_EQ(groups("backend: 'tensorflow'"), "m KIND_CPU 2 []");
  EXPECT_EQ(groups("", kAnywhere, {1, 0}), "m KIND_GPU 1 [0,1]");
  EXPECT_EQ(groups("backend: 'onnxruntime'", kAnywhere, {0}), "m KIND_GPU 1 [0]");
  EXPECT_EQ(groups("backend: 'onnxruntime'", kAnywhere), "m KIND_CPU 2 []");
}

TEST(InstanceGroups, OfABackendThatRunsOnNoGpus) {
  const BackendTraits cpu{.preferred_groups = {{InstanceKind::kCpu, 0, {}}}};
  const BackendTraits model{.preferred_groups = {{InstanceKind::kModel, 0, {}}, {InstanceKind::kCpu, 3, {}}}};
  for (const GpuSet& gpus : {GpuSet{}, GpuSet{0}, GpuSet{0, 1}}) {
    EXPECT_EQ(groups("", {}, gpus), "m KIND_CPU 1 []");
    EXPECT_EQ(groups("backend: 'onnxruntime'", {}, gpus), "m KIND_CPU 2 []");
    EXPECT_EQ(groups("", cpu, gpus), "m KIND_CPU 1 []");
    EXPECT_EQ(groups("backend: 'onnxruntime'", cpu, gpus), "m KIND_CPU 2 []");
    EXPECT_EQ(groups("", model, gpus), "m KIND_MODEL 1 []");
    EXPECT_EQ(groups("instance_group { kind: KIND_AUTO }", model, gpus), "m_0 KIND_CPU 3 []");
    EXPECT_EQ(groups("instance_group [ { count: 2 }, { name: 'g' kind: KIND_AUTO } ]", cpu, gpus),
              "m_0 KIND_CPU 2 []; g KIND_CPU 1 []");
    EXPECT_EQ(groups("instance_group { gpus: [ 0 ] }", cpu, gpus), "m_0 KIND_CPU 1 [0]");
  }
  EXPECT_EQ(groups("instance_group { kind: KIND_GPU }", cpu, {0, 1}), "m_0 KIND_GPU 1 [0,1]")
      << "the backend says that it has none";
}

/// Wherever it stands: a backend of Triton's that names no GPUs may run there all the same.
TEST(InstanceGroups, OfABackendThatNamesGpusLast) {
  const BackendTraits traits{.preferred_groups = {{InstanceKind::kCpu, 3, {}}, {InstanceKind::kAuto, 0, {}}}};
  EXPECT_EQ(groups("", traits, {0}), "m KIND_CPU 3 []");
  EXPECT_EQ(groups("instance_group { kind: KIND_AUTO }", traits, {0, 2}), "m_0 KIND_GPU 1 [0,2]");
  EXPECT_EQ(groups("instance_group { kind: KIND_AUTO }", traits), "m_0 KIND_CPU 3 []");
  EXPECT_EQ(groups("instance_group [ { gpus: [ 1 ] }, { gpus: [ 0, 2 ] } ]", traits, {0, 2}),
            "m_0 KIND_CPU 3 [1]; m_1 KIND_GPU 1 [0,2]");
}

TEST(InstanceGroups, DefaultGroupAsTheBackendPrefers) {
  BackendTraits gpu_first{.preferred_groups = {{InstanceKind::kGpu, 3, {1, 7}}, {InstanceKind::kCpu, 4, {}}}};
  EXPECT_EQ(groups("", gpu_first), "m KIND_CPU 4 []");
  EXPECT_EQ(groups("", gpu_first, {0, 1}), "m KIND_GPU 3 [1]");
  BackendTraits automatic{.preferred_groups = {{InstanceKind::kAuto, 2, {5}}}};
  EXPECT_EQ(groups("", automatic, {5}), "m KIND_GPU 2 [5]");
  EXPECT_EQ(groups("", automatic, {0}), "m KIND_CPU 2 [5]");
  BackendTraits model{.preferred_groups = {{InstanceKind::kModel, 0, {}}}};
  EXPECT_EQ(groups("", model, {0}), "m KIND_MODEL 1 []");
  EXPECT_EQ(groups("backend: 'onnxruntime'", model), "m KIND_MODEL 1 []");
}

TEST(InstanceGroups, WrittenGroups) {
  EXPECT_EQ(groups("instance_group [ { count: 2 }, { name: 'g' kind: KIND_MODEL } ]"),
            "m_0 KIND_CPU 2 []; g KIND_MODEL 1 []");
  EXPECT_EQ(groups("instance_group { kind: KIND_CPU } backend: 'onnxruntime'"), "m_0 KIND_CPU 2 []");
  EXPECT_EQ(groups("instance_group { gpus: [ 1 ] }", kAnywhere, {0, 1}), "m_0 KIND_GPU 1 [1]");
  EXPECT_EQ(groups("instance_group { gpus: [ 9 ] }", kAnywhere, {0, 1}), "m_0 KIND_CPU 1 [9]");
  EXPECT_EQ(groups("instance_group { gpus: [ 0, 9 ] count: 3 }", kAnywhere, {0, 1}), "m_0 KIND_CPU 3 [0,9]");
  EXPECT_EQ(groups("instance_group { kind: KIND_GPU }", {}, {0, 1}), "m_0 KIND_GPU 1 [0,1]");
  BackendTraits traits{.preferred_groups = {{InstanceKind::kGpu, 5, {9}},
                                            {InstanceKind::kGpu, 2, {1}},
                                            {InstanceKind::kCpu, 7, {}}}};
  EXPECT_EQ(groups("instance_group { kind: KIND_GPU }", traits, {0, 1}), "m_0 KIND_GPU 2 [1]");
  EXPECT_EQ(groups("instance_group { kind: KIND_GPU count: 1 gpus: 0 }", traits, {0, 1}),
            "m_0 KIND_GPU 1 [0]");
  EXPECT_EQ(groups("instance_group { kind: KIND_CPU } backend: 'onnxruntime'", traits), "m_0 KIND_CPU 7 []");
}

/// What finish_instance_groups() says.
std::string refusal(const std::string& text, const std::vector<int32_t>& gpus = {},
                    Code code = Code::kInvalidArgument, const Settings& settings = {}) {
  PbtxtModelConfigs configs(settings, nullptr);
  auto done = configs.finish_instance_groups(config_of("name: 'm' " + text).SerializeAsString(), {}, gpus);
  if (done.ok()) return "OK";
  EXPECT_EQ(done.status().code(), code);
  return std::string(done.status().message());
}

TEST(InstanceGroups, EveryRule) {
  struct Case {
    const char* text;
    std::vector<int32_t> gpus;
    const char* message;
  } cases[] = {
      {"", {}, "OK"},
      {"instance_group { kind: KIND_MODEL gpus: 0 }",
       {0},
       "instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs"},
      {"instance_group { kind: KIND_CPU gpus: 0 }",
       {0},
       "instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs"},
      {"instance_group { kind: KIND_GPU }",
       {},
       "instance group m_0 of model m has kind KIND_GPU but no GPUs are available"},
      {"instance_group { kind: KIND_GPU gpus: [ 0, 99 ] }",
       {0, 1},
       "instance group m_0 of model m specifies invalid or unsupported gpu id 99. GPUs with at least the "
       "minimum required CUDA compute compatibility of 6.000000 are: 0, 1"},
      {"instance_group { kind: KIND_GPU gpus: [ -1 ] }",
       {0},
       "instance group m_0 of model m specifies invalid or unsupported gpu id -1. GPUs with at least the "
       "minimum required CUDA compute compatibility of 6.000000 are: 0"},
      {"platform: 'p' instance_group { profile: '0' }",
       {},
       "instance group m_0 of model m and platform pspecifies profile field which is only supported for "
       "TensorRT models"},
      {"platform: 'tensorrt_plan' instance_group { profile: [ '0', '12' ] }", {}, "OK"},
      {"platform: 'tensorrt_plan' instance_group { profile: '-1' }",
       {},
       "instance group m_0 of model m and platform tensorrt_plan specifies invalid profile -1. The field "
       "should contain the string representation of a non-negative integer."},
      {"platform: 'tensorrt_plan' instance_group { profile: 'x' }", {}, "unable to parse 'x': stoi"},
      {"platform: 'tensorrt_plan' instance_group { profile: '99999999999' }",
       {},
       "unable to parse '99999999999': stoi"},
      {"platform: 'tensorrt_plan' instance_group { profile: '' }", {}, "profile name must not be empty"},
      {"instance_group [ { count: 1000 }, { count: 25 } ]",
       {},
       "model 'm' would have 1025 instances, expected at most 1024; the option 'instances_max' sets the "
       "limit"},
      {"instance_group { count: 513 kind: KIND_GPU }",
       {0, 1},
       "model 'm' would have 1026 instances, expected at most 1024; the option 'instances_max' sets the "
       "limit"},
      {"sequence_batching { state { input_name: 's' use_growable_memory: true } }", {}, "OK"},
      {"platform: 'ensemble'", {}, "OK"},
  };
  for (const Case& c : cases) EXPECT_EQ(refusal(c.text, c.gpus), c.message) << c.text;
}

TEST(InstanceGroups, AFailureNamesTheCapabilityThatIsAskedFor) {
  Settings settings;
  settings.min_compute_capability = 7.5;
  EXPECT_EQ(refusal("instance_group { kind: KIND_GPU gpus: [ 2 ] }", {0}, Code::kInvalidArgument, settings),
            "instance group m_0 of model m specifies invalid or unsupported gpu id 2. GPUs with at least the "
            "minimum required CUDA compute compatibility of 7.500000 are: 0");
}

TEST(InstanceGroups, UnsettledOnesAreRefused) {
  auto config = config_of("name: 'm'");
  EXPECT_EQ(validate_instance_groups(config, {}, {}).text(),
            "must specify one or more 'instance group's for m");
  config = config_of("name: 'm' instance_group { name: 'g' kind: KIND_GPU count: 1 }");
  EXPECT_EQ(validate_instance_groups(config, {0}, {}).text(),
            "instance group g of model m has kind KIND_GPU but specifies no GPUs");
  config = config_of("name: 'm' instance_group { name: 'g' count: 1 }");
  Status status = validate_instance_groups(config, {}, {});
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.text(), "instance group g of model m has unexpected kind KIND_AUTO");
}

TEST(InstanceGroups, EnsemblesStayAsTheyAre) {
  PbtxtModelConfigs configs({}, nullptr);
  std::string bytes = config_of("name: 'm' platform: 'ensemble'").SerializeAsString();
  EXPECT_EQ(configs.finish_instance_groups(bytes, {}, {}).value(), bytes);
}

TEST(InstanceGroups, CountsAreBoundedWhereTheyAreWritten) {
  for (const char* count : {"-1", "1025", "1000000", "2147483647"}) {
    EXPECT_EQ(
        read_status(cat("backend: 'b'\ninstance_group [ { },\n  { count: ", count, " } ]")).text(),
        cat("/models/m/config.pbtxt:3:5: field 'instance_group[1].count': 'instance_group[1].count' of model "
            "'m' is ",
            count, ", expected 1 to 1024 or 0 for the default"));
  }
  EXPECT_EQ(read_message("backend: 'b' instance_group [ { count: 0 }, { count: 1024 } ]"), "OK");
  Settings settings;
  settings.instances_max = 4;
  EXPECT_EQ(read_status("backend: 'b' instance_group { count: 5 }", false, settings).message(),
            "'instance_group[0].count' of model 'm' is 5, expected 1 to 4 or 0 for the default");
}

}  // namespace
}  // namespace atl::pbtxt
