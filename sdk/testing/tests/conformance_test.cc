/// The suites run against the fakes, and against providers that are broken on purpose: those must be noticed.
#include <cstdlib>
#include <new>

#include "atoll/testing/conformance/backend.h"
#include "atoll/testing/conformance/memory.h"
#include "atoll/testing/conformance/model_catalog.h"
#include "atoll/testing/conformance/model_control.h"
#include "atoll/testing/conformance/scheduler.h"
#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_model_control.h"
#include "atoll/testing/fake_scheduler.h"

namespace atl::test {
namespace {

/// What TestMemory does wrong.
enum class Fault { kNone, kMisaligned, kForgetsToCount, kCountsRefused };

class TestMemory final : public Memory {
 public:
  TestMemory(uint64_t limit_bytes, Fault fault) : limit_bytes_(limit_bytes), fault_(fault) {}
  virtual ~TestMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override {
    uint64_t room = limit_bytes_ == 0 ? uint64_t{1} << 40 : limit_bytes_;
    uint64_t used = used_bytes_;
    do {
      if (size_bytes > room || used > room - size_bytes) {
        if (fault_ == Fault::kCountsRefused) ++used_bytes_;
        return Status(Code::kResourceExhausted, cat(size_bytes, " bytes do not fit into ", room));
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + size_bytes));
    void* data = ::operator new(size_bytes + 128, std::align_val_t(64));
    if (fault_ == Fault::kMisaligned) data = static_cast<char*>(data) + 8;
    return Buffer{data, size_bytes, MemoryKind::kCpu, 0, device_id};
  }
  void free(const Buffer& buffer) noexcept override {
    void* data = fault_ == Fault::kMisaligned ? static_cast<char*>(buffer.data) - 8 : buffer.data;
    ::operator delete(data, std::align_val_t(64));
    if (fault_ != Fault::kForgetsToCount) used_bytes_ -= buffer.size_bytes;
  }
  uint64_t used_bytes() const noexcept override { return used_bytes_; }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  const uint64_t limit_bytes_;
  const Fault fault_;
  std::atomic<uint64_t> used_bytes_{0};
};

MemoryProvider memory(std::string name, Fault fault, std::vector<ConformanceException> exceptions = {}) {
  return {std::move(name), [fault](uint64_t limit) { return std::make_shared<TestMemory>(limit, fault); }, 0,
          std::move(exceptions)};
}
INSTANTIATE_TEST_SUITE_P(
    Fakes, MemoryConformance,
    ::testing::Values(memory("right", Fault::kNone),
                      memory("misaligned", Fault::kMisaligned,
                             {expected_failure("AddressesAreAlignedTo64", "on purpose")}),
                      memory("forgets", Fault::kForgetsToCount,
                             {expected_failure("UsedBytesReturnToTheStart", "on purpose"),
                              expected_failure("LimitRefusesAndRecovers", "on purpose"),
                              expected_failure("ThreadsShareOneLimit", "on purpose")}),
                      memory("counts refused", Fault::kCountsRefused,
                             {expected_failure("LimitRefusesAndRecovers", "on purpose"),
                              expected_failure("AbsurdSizesAreRefused", "on purpose"),
                              expected_failure("ThreadsShareOneLimit", "on purpose")})));

INSTANTIATE_TEST_SUITE_P(
    Fakes, SchedulerConformance,
    ::testing::Values(SchedulerProviderUnderTest{
        "fake",
        [](FakeHost&) { return std::make_shared<FakeSchedulerProvider>(); },
        "",
        0,
        nullptr,
        {expected_failure("ACancelledRequestIsAnsweredWhileTheInstanceIsBusy", "the fake has no thread"),
         expected_failure("ARequestPastItsDeadlineIsNotExecuted", "the fake knows no time"),
         expected_failure("ExecutionsAreAdmittedOrTheModelIsRefused", "the fake is used where others ask")}}));

/// Reports what it should not: successes after the release.
class LateReporter final : public BackendInstance {
 public:
  explicit LateReporter(InferenceReporter& reporter) : reporter_(reporter) {}
  Status execute(const Batch& batch) noexcept override {
    for (Request* request : batch.requests) {
      answer_identity(*request);
      (void)request->release().ok();
      reporter_.report_request(*request, true, {});
    }
    return {};
  }

 private:
  InferenceReporter& reporter_;
};
class LateModel final : public BackendModel {
 public:
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    return std::unique_ptr<BackendInstance>(new LateReporter(*spec.reporter));
  }
};
class LateBackend final : public Backend {
 public:
  virtual ~LateBackend() = default;
  BackendTraits traits() const noexcept override { return {}; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource&) noexcept override {
    return std::unique_ptr<BackendModel>(new LateModel);
  }
};

BackendCase identity_case(std::string name, uint32_t max_batch_size, DataType datatype,
                          std::string (*bytes)(uint64_t)) {
  BackendCase one;
  one.name = std::move(name);
  one.source.name = one.name;
  one.source.config = "opaque";
  one.max_batch_size = max_batch_size;
  one.fill = [=](TestRequest& request, uint64_t n) {
    request.add_raw_input("INPUT0", datatype, {1, 3}, bytes(n));
  };
  one.right = [=](const ReceivedResponse& response, uint64_t n) {
    const ReceivedOutput* output = response.find("OUTPUT0");
    if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT0";
    return output->bytes == bytes(n) ? ::testing::AssertionSuccess()
                                     : ::testing::AssertionFailure() << "wrong bytes";
  };
  return one;
}
std::vector<BackendCase> identity_cases() {
  return {identity_case("fp32", 8, DataType::kFp32,
                        [](uint64_t n) {
                          return bytes_of(std::vector{static_cast<float>(n), 2.0f, -3.5f});
                        }),
          identity_case("bytes", 0, DataType::kBytes, [](uint64_t n) {
            return encode_bytes_tensor({"", std::to_string(n), std::string(100, 'x')});
          })};
}
std::shared_ptr<Backend> fake_backend(FakeHost& host) { return std::make_shared<FakeBackend>(host.clock()); }
std::shared_ptr<Backend> late_backend(FakeHost&) { return std::make_shared<LateBackend>(); }

INSTANTIATE_TEST_SUITE_P(
    Fakes, BackendConformance,
    ::testing::Values(BackendProvider{"fake",
                                      fake_backend,
                                      identity_cases(),
                                      InstanceKind::kCpu,
                                      {},
                                      {unsupported("ALoadWithoutFilesFails",
                                                   "the fake backend reads no files")}},
                      BackendProvider{"late",
                                      late_backend,
                                      identity_cases(),
                                      InstanceKind::kCpu,
                                      {},
                                      {unsupported("ALoadWithoutFilesFails", "this backend reads no files"),
                                       expected_failure("OneRequest", "on purpose"),
                                       expected_failure("ManyRequestsInABatch", "on purpose"),
                                       expected_failure("InputsInSeveralBuffers", "on purpose"),
                                       expected_failure("MisalignedInputs", "on purpose"),
                                       expected_failure("AFailedOutputAllocationFailsAlone", "on purpose"),
                                       expected_failure("InstancesRunSideBySide", "on purpose"),
                                       expected_failure("LoadAndUnloadRepeat", "on purpose")}}));

/// The fake catalog with the models that the suite asks for, loaded on demand.
struct FakeCatalogUnderTest final : CatalogUnderTest {
  FakeCatalogUnderTest() {
    for (int64_t version : {1, 3}) add("alpha", version);
    add("beta", 2);
    (void)catalog_.acquire("beta", 2).ok();
    catalog_.unload({"alpha", "beta"}, [](std::vector<ModelLoadResult>) {});
  }
  void add(const std::string& name, int64_t version) {
    catalog_.add_identity(name, DataType::kFp32, 0, version);
  }
  ModelCatalog& catalog() override { return catalog_; }
  void settle() override {}
  FakeEventBus& events() override { return events_; }

  FakeModelCatalog catalog_;
  FakeEventBus events_;
};
INSTANTIATE_TEST_SUITE_P(Fakes, ModelCatalogConformance,
                         ::testing::Values(CatalogProvider{
                             "fake",
                             [] { return std::make_shared<FakeCatalogUnderTest>(); },
                             {expected_failure("EventsTellTheState", "the fake publishes no events")}}));

/// Passes everything on to the catalog of the registry, as an explicit control does.
class PassingControl final : public ModelControl {
 public:
  explicit PassingControl(FakeHost& host) : catalog_(host.registry().find<ModelCatalog>().value()) {
    catalog_->set_startup_complete();
  }
  virtual ~PassingControl() = default;
  std::string_view mode() const noexcept override { return "explicit"; }
  void load(std::string model, std::vector<ModelControlParameter>, Done done) noexcept override {
    catalog_->load({std::move(model)},
                   [done](std::vector<ModelLoadResult> results) { done(results[0].status.clone()); });
  }
  void unload(std::string model, std::vector<ModelControlParameter>, Done done) noexcept override {
    catalog_->unload({std::move(model)},
                     [done](std::vector<ModelLoadResult> results) { done(results[0].status.clone()); });
  }

 private:
  Service<ModelCatalog> catalog_;
};
INSTANTIATE_TEST_SUITE_P(
    Fakes, ModelControlConformance,
    ::testing::Values(
        ModelControlProvider{
            "passing", [](FakeHost& host) { return std::make_shared<PassingControl>(host); }, "explicit", {}},
        ModelControlProvider{"recording",
                             [](FakeHost&) { return std::make_shared<FakeModelControl>(); },
                             "explicit",
                             {expected_failure("StartUpIsCompletedInTheEnd", "the fake only records"),
                              expected_failure("OnlyExplicitModeLetsClientsDecide", "the fake only records"),
                              expected_failure("AFailedLoadIsAnswered", "the fake only records")}}));

}  // namespace
}  // namespace atl::test
