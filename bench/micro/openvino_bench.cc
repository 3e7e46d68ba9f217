/// What backends/openvino adds to the calls of OpenVINO that it makes: one request of one row at a time, in process, by the backend
/// and by the same calls without it, in turns.
///
///     openvino_bench MODEL.onnx [RUNS] [ROUNDS]
///
/// The model has an input INPUT0 and an output OUTPUT0, FP32 [batch, WIDTH]; it has one thread, the caller's. Prints the shortest mean
/// of a round of each in nanoseconds a run, and the difference. The backend's part has the response of a test's request in it. A round
/// is short, so that its requests are in the caches, as one that has just been received is.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/openvino/testing/backend_fixture.h"

namespace atl::openvino {
namespace {

constexpr char kSize[] = "max_batch_size: 4";

template <class T>
T need(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().text().c_str());
  std::exit(1);
}

void need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.text().c_str());
  std::exit(1);
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The calls alone: the input is copied in and the output out, whose shape is asked for, as any program has to.
class BareCalls {
 public:
  BareCalls(const OvSettings& settings, const std::string& file, int64_t width) {
    const OvCore& core = *need(shared_core());
    Handle<OvModel> model;
    need(make(model, api().ov_core_read_model, &core, file.c_str(), static_cast<const char*>(nullptr)));
    std::vector<OvProperty> properties;
    for (const auto& [key, value] : settings.properties) properties.push_back({key.c_str(), value.c_str()});
    need(make(compiled_, api().ov_core_compile_model_props, &core, static_cast<const OvModel*>(model.get()),
              "CPU", properties.size(), static_cast<const OvProperty*>(properties.data())));
    const OvCompiledModel* const raw = compiled_.get();
    Handle<OvPort> in, out;
    need(make(in, api().ov_compiled_model_input_by_name, raw, "INPUT0"));
    need(make(out, api().ov_compiled_model_output_by_name, raw, "OUTPUT0"));
    need(make(request_, api().ov_compiled_model_create_infer_request, raw));
    const OvInferRequest* const request = request_.get();
    need(make(input_, api().ov_infer_request_get_tensor_by_const_port, request,
              static_cast<const OvPort*>(in.get())));
    need(make(output_, api().ov_infer_request_get_tensor_by_const_port, request,
              static_cast<const OvPort*>(out.get())));
    int64_t dims[] = {1, width};
    need(check(api().ov_tensor_set_shape(input_.get(), {2, dims})));
    need(check(api().ov_tensor_data(input_.get(), &to_)));
  }

  void run(const std::vector<float>& row, std::vector<float>& answer) {
    std::memcpy(to_, row.data(), row.size() * sizeof(float));
    need(check(api().ov_infer_request_infer(request_.get())));
    OvShape shape = {0, nullptr};
    need(check(api().ov_tensor_get_shape(output_.get(), &shape)));
    answer.resize(static_cast<size_t>(shape.dims[0] * shape.dims[1]));
    api().ov_shape_free(&shape);
    void* from = nullptr;
    need(check(api().ov_tensor_data(output_.get(), &from)));
    std::memcpy(answer.data(), from, answer.size() * sizeof(float));
  }

 private:
  Handle<OvCompiledModel> compiled_;
  Handle<OvInferRequest> request_;
  Handle<OvTensor> input_, output_;
  void* to_ = nullptr;
};

struct Served {
  explicit Served(const std::string& bytes) {
    OvBackendSettings settings;
    settings.places.option = ATOLL_OPENVINO_ENGINE;
    settings.defaults.threads = 1;
    backend.set(settings);
    source = test::write_model(folder.path(), "m", bytes, kSize, "model.onnx");
    source.config = need(backend.complete_config(source));
    if (!config.ParseFromString(source.config)) std::exit(1);
    source.model = proto::describe_model(config);
    model = need(backend.load(source));
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter;
    instance = need(model->create_instance(spec));
  }

  test::TemporaryDirectory folder;
  test::FakeHost host{"openvino", test::FakeHost::Threads::kReal};
  test::RecordingReporter reporter;
  OpenVinoBackend backend{host};
  ModelSource source;
  inference::ModelConfig config;
  std::unique_ptr<BackendModel> model;
  std::unique_ptr<BackendInstance> instance;
};

/// \returns nanoseconds a run
double round_of_backend(Served& served, const std::vector<float>& row, int runs,
                        const std::vector<float>& expected) {
  std::vector<std::unique_ptr<test::TestRequest>> requests;
  for (int i = 0; i < runs; ++i) {
    test::TestRequest& request = *requests.emplace_back(std::make_unique<test::TestRequest>());
    request.add_input("INPUT0", DataType::kFp32, {1, static_cast<int64_t>(row.size())}, row);
    request.add_output("OUTPUT0");
    request->batch_size = 1;
    request.mark_accepted();
  }
  const int64_t begin = now_ns();
  for (const auto& request : requests) {
    Request* raw = &request->request();
    Batch batch;
    batch.requests = {&raw, 1};
    batch.total_batch_size = 1;
    need(served.instance->execute(batch));
  }
  const double mean = static_cast<double>(now_ns() - begin) / runs;
  if (requests.back()->response().find("OUTPUT0")->bytes != atl::test::bytes_of(expected)) std::exit(1);
  return mean;
}

int measure(const std::string& file, int runs, int rounds) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  Served served(bytes);
  const int64_t width = served.config.input(0).dims(0);
  OvDefaults defaults;
  OvSettings settings = need(read_settings(served.config, served.folder.path(), defaults, served.host.log()));
  BareCalls bare(settings, file, width);
  const std::vector<float> row(static_cast<size_t>(width), 0.5F);
  std::vector<float> answer;
  bare.run(row, answer);
  double least_bare = std::numeric_limits<double>::max(), least_served = least_bare;
  for (int i = 0; i < rounds; ++i) {
    const int64_t begin = now_ns();
    for (int k = 0; k < runs; ++k) bare.run(row, answer);
    least_bare = std::min(least_bare, static_cast<double>(now_ns() - begin) / runs);
    least_served = std::min(least_served, round_of_backend(served, row, runs, answer));
  }
  std::printf("bare calls %.0f ns, backends/openvino %.0f ns, added %.0f ns\n", least_bare, least_served,
              least_served - least_bare);
  return 0;
}

}  // namespace
}  // namespace atl::openvino

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: openvino_bench MODEL.onnx [RUNS] [ROUNDS]\n");
    return 2;
  }
  return atl::openvino::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 20,
                                argc > 3 ? std::atoi(argv[3]) : 3'000);
}
