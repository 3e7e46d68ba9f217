/// The suites run against the fakes, and against providers that are broken on purpose: those must be noticed.
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "atoll/backend/responder.h"
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
enum class Fault {
  kNone,
  kMisaligned,
  kForgetsToCount,
  kCountsRefused,
  kMovesWhenGrowing,
  kGrowsBeyondTheLimit,
  kGrowsBeyondTheEnd
};

class TestMemory final : public Memory {
 public:
  TestMemory(uint64_t limit_bytes, Fault fault) : limit_bytes_(limit_bytes), fault_(fault) {}
  virtual ~TestMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override {
    ATOLL_RETURN_IF_ERROR(count(size_bytes));
    void* data = ::operator new(size_bytes + 128, std::align_val_t(64));
    if (fault_ == Fault::kMisaligned) data = static_cast<char*>(data) + 8;
    return Buffer{data, size_bytes, MemoryKind::kCpu, static_cast<int32_t>(device_id)};
  }
  void free(const Buffer& buffer) noexcept override {
    void* data = fault_ == Fault::kMisaligned ? static_cast<char*>(buffer.data) - 8 : buffer.data;
    ::operator delete(data, std::align_val_t(64));
    if (fault_ != Fault::kForgetsToCount) used_bytes_ -= buffer.size_bytes;
  }
  Result<Buffer> allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                   int64_t device_id) noexcept override {
    if (size_bytes > most_bytes) return invalid_argument("more than the most");
    if (most_bytes > uint64_t{1} << 40) return Status(Code::kResourceExhausted, "no such block");
    ATOLL_RETURN_IF_ERROR(count(size_bytes));
    void* data = ::operator new(most_bytes + 1, std::align_val_t(64));
    std::lock_guard lock(mutex_);
    most_bytes_[data] = most_bytes;
    return Buffer{data, size_bytes, MemoryKind::kCpu, static_cast<int32_t>(device_id)};
  }
  Status grow(Buffer& buffer, uint64_t size_bytes) noexcept override {
    if (size_bytes <= buffer.size_bytes) return {};
    std::lock_guard lock(mutex_);
    auto most = most_bytes_.extract(buffer.data);
    const bool is_too_large = size_bytes > most.mapped();
    if (is_too_large && fault_ == Fault::kGrowsBeyondTheEnd) size_bytes = most.mapped();
    Status status;
    if (is_too_large && fault_ != Fault::kGrowsBeyondTheEnd) status = Status(Code::kOutOfRange, "no room");
    if (status.ok() && fault_ != Fault::kGrowsBeyondTheLimit) status = count(size_bytes - buffer.size_bytes);
    if (status.ok() && fault_ == Fault::kGrowsBeyondTheLimit) used_bytes_ += size_bytes - buffer.size_bytes;
    if (status.ok() && fault_ == Fault::kMovesWhenGrowing) {
      most.key() = ::operator new(most.mapped() + 1, std::align_val_t(64));
      std::memcpy(most.key(), buffer.data, buffer.size_bytes);
      ::operator delete(std::exchange(buffer.data, most.key()), std::align_val_t(64));
    }
    if (status.ok()) buffer.size_bytes = size_bytes;
    most_bytes_.insert(std::move(most));
    return status;
  }
  void free_growable(const Buffer& buffer) noexcept override {
    std::lock_guard lock(mutex_);
    most_bytes_.erase(buffer.data);
    ::operator delete(buffer.data, std::align_val_t(64));
    used_bytes_ -= buffer.size_bytes;
  }
  uint64_t used_bytes() const noexcept override { return used_bytes_; }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  Status count(uint64_t size_bytes) noexcept {
    const uint64_t room = limit_bytes_ == 0 ? uint64_t{1} << 40 : limit_bytes_;
    uint64_t used = used_bytes_;
    do {
      if (size_bytes > room || used > room - size_bytes) {
        if (fault_ == Fault::kCountsRefused) ++used_bytes_;
        return Status(Code::kResourceExhausted, cat(size_bytes, " bytes do not fit into ", room));
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + size_bytes));
    return {};
  }

  const uint64_t limit_bytes_;
  const Fault fault_;
  std::mutex mutex_;
  std::map<void*, uint64_t> most_bytes_;  // of those that grow
  std::atomic<uint64_t> used_bytes_{0};
};

MemoryProvider memory(std::string name, Fault fault, std::vector<ConformanceException> exceptions = {}) {
  MemoryProvider provider;
  provider.name = std::move(name);
  provider.make = [fault](uint64_t limit) { return std::make_shared<TestMemory>(limit, fault); };
  provider.grows = true;
  provider.exceptions = std::move(exceptions);
  return provider;
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
                              expected_failure("TheLimitIsForWhatIsUsedOfAGrowingBuffer", "on purpose"),
                              expected_failure("ThreadsShareOneLimit", "on purpose")}),
                      memory("moves", Fault::kMovesWhenGrowing,
                             {expected_failure("WhatGrowsStaysWhereItIs", "on purpose")}),
                      memory("beyond the limit", Fault::kGrowsBeyondTheLimit,
                             {expected_failure("TheLimitIsForWhatIsUsedOfAGrowingBuffer", "on purpose"),
                              expected_failure("ThreadsShareOneLimit", "on purpose")}),
                      memory("beyond the end", Fault::kGrowsBeyondTheEnd,
                             {expected_failure("GrowingEndsWithWhatIsReserved", "on purpose")})));

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
         expected_failure("ExecutionsAreAdmittedOrTheModelIsRefused",
                          "the fake is used where others ask")}}));

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

/// Answers as an identity model does, but for one mistake.
enum class Mistake {
  kAnswersWhatNobodyAskedFor,  ///< every output it has
  kAnswersWhatItHasNot,        ///< an output that no configuration names
  kAnswersTwice,               ///< one output in two copies
  kTakesOutputsByPosition,     ///< the first output that is asked for is OUTPUT0, whatever its name
  kWritesBeyondItsMemory,      ///< one byte
  kForgetsMemory,              ///< an output without any
  kWritesToItsInputs,          ///< one byte, once all is answered as it should be
  kForgetsRequests,            ///< all of a batch
};
class MistakenBackend final : public Backend, public BackendModel {
 public:
  explicit MistakenBackend(Mistake mistake) : mistake_(mistake) {}
  BackendTraits traits() const noexcept override { return {}; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource&) noexcept override {
    return std::make_unique<MistakenBackend>(mistake_);
  }
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    return std::make_unique<Instance>(mistake_, spec.reporter);
  }

 private:
  class Instance final : public BackendInstance {
   public:
    Instance(Mistake mistake, InferenceReporter* reporter) : mistake_(mistake), responder_(reporter) {}
    Status execute(const Batch& batch) noexcept override {
      if (mistake_ == Mistake::kForgetsRequests) return {};
      responder_.answer_each(batch, clock_, [this](uint32_t i) { return answer(i); });
      return {};
    }

   private:
    void copy(uint32_t i, const InputTensor& input, std::string_view name) {
      RequestedOutput named;
      named.name = name;
      if (mistake_ == Mistake::kForgetsMemory) {
        if (OutputTensor* output = responder_.add_output(i, named, input.datatype, input.shape, 0)) {
          output->buffer = {};
        }
        return;
      }
      OutputTensor* output = responder_.add_output(i, named, input.datatype, input.shape, input.size_bytes);
      if (output == nullptr) return;
      (void)backends::gather(input.buffers, output->buffer, name).ok();
      if (mistake_ == Mistake::kWritesBeyondItsMemory) {
        static_cast<char*>(output->buffer.data)[input.size_bytes] = '!';
      }
    }
    Status answer(uint32_t i) {
      const Request& request = responder_.request(i);
      for (uint32_t k = 0; k < request.inputs.size(); ++k) {
        const InputTensor& input = request.inputs[k];
        const std::string name = identity_output_name(input.name);
        const bool is_asked = request.find_output(name) != nullptr;
        if (mistake_ == Mistake::kTakesOutputsByPosition) {
          if (k < request.outputs.size()) copy(i, input, request.outputs[k].name);
        } else if (is_asked || mistake_ == Mistake::kAnswersWhatNobodyAskedFor) {
          copy(i, input, k == 0 ? "OUTPUT0" : "OUTPUT1");
        }
        if (k != 0) continue;
        if (mistake_ == Mistake::kAnswersTwice && is_asked) copy(i, input, request.find_output(name)->name);
        if (mistake_ == Mistake::kAnswersWhatItHasNot) copy(i, input, "NOT_CONFIGURED");
      }
      if (mistake_ == Mistake::kWritesToItsInputs) {
        *static_cast<char*>(request.inputs[0].buffers[0].data) ^= 1;
      }
      return {};
    }
    const Mistake mistake_;
    FakeClock clock_;
    backends::BatchResponder responder_;
  };
  const Mistake mistake_;
};

BackendCase identity_case(std::string name, uint32_t max_batch_size, DataType datatype,
                          std::string (*bytes)(uint64_t)) {
  BackendCase one;
  one.name = std::move(name);
  one.source.name = one.source.model.name = one.name;
  one.source.config = "opaque";
  one.max_batch_size = one.source.model.max_batch_size = max_batch_size;
  for (int i = 0; i < 2; ++i) {
    TensorSpec spec;
    spec.datatype = datatype;
    spec.dims = max_batch_size > 0 ? std::vector<int64_t>{3} : std::vector<int64_t>{1, -1};
    spec.name = cat("INPUT", i);
    one.source.model.inputs.push_back(spec);
    spec.name = cat("OUTPUT", i);
    one.source.model.outputs.push_back(spec);
  }
  one.fill = [=](TestRequest& request, uint64_t n) {
    request.add_raw_input("INPUT0", datatype, {1, 3}, bytes(n));
    request.add_raw_input("INPUT1", datatype, {1, 3}, bytes(n + 100));
  };
  one.right = [=](const ReceivedResponse& response, uint64_t n) {
    for (uint64_t i = 0; i < 2; ++i) {
      const ReceivedOutput* output = response.find(cat("OUTPUT", i));
      if (output == nullptr) return ::testing::AssertionFailure() << "no OUTPUT" << i;
      if (output->bytes != bytes(n + 100 * i)) {
        return ::testing::AssertionFailure() << "wrong bytes in OUTPUT" << i;
      }
    }
    return ::testing::AssertionSuccess();
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

/// Checks that a backend cannot pass if none of its answers is right.
const std::vector<std::string> kEveryAnswer = {"OneRequest",
                                               "ManyRequestsInABatch",
                                               "InputsInSeveralBuffers",
                                               "MisalignedInputs",
                                               "AFailedOutputAllocationFailsAlone",
                                               "InstancesRunSideBySide",
                                               "LoadAndUnloadRepeat",
                                               "EachOutputCanBeAskedForAlone",
                                               "OutputsGoToTheirPlacesInWhateverOrderTheyAreAskedFor"};
/// \param fails  the checks that see it
BackendProvider mistaken(std::string name, Mistake mistake, const std::vector<std::string>& fails) {
  BackendProvider provider{std::move(name),
                           [mistake](FakeHost&) { return std::make_shared<MistakenBackend>(mistake); },
                           identity_cases(),
                           InstanceKind::kCpu,
                           {},
                           {unsupported("ALoadWithoutFilesFails", "this backend reads no files")}};
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}
BackendProvider forgetful(std::string name) {
  BackendProvider provider = mistaken(std::move(name), Mistake::kForgetsRequests, kEveryAnswer);
  provider.answer_within = std::chrono::milliseconds(100);
  return provider;
}
INSTANTIATE_TEST_SUITE_P(
    Mistakes, BackendConformance,
    ::testing::Values(mistaken("ignores the request", Mistake::kAnswersWhatNobodyAskedFor,
                               {"EachOutputCanBeAskedForAlone"}),
                      mistaken("invents an output", Mistake::kAnswersWhatItHasNot, kEveryAnswer),
                      mistaken("answers twice", Mistake::kAnswersTwice, kEveryAnswer),
                      mistaken("goes by position", Mistake::kTakesOutputsByPosition,
                               {"EachOutputCanBeAskedForAlone",
                                "OutputsGoToTheirPlacesInWhateverOrderTheyAreAskedFor"}),
                      mistaken("writes beyond", Mistake::kWritesBeyondItsMemory, kEveryAnswer),
                      mistaken("forgets memory", Mistake::kForgetsMemory, kEveryAnswer),
                      mistaken("writes to its inputs", Mistake::kWritesToItsInputs, kEveryAnswer),
                      forgetful("forgets requests")));

class ForgottenRequest : public BackendConformance {};
TEST_P(ForgottenRequest, IsNamed) {
  Loaded loaded = load(GetParam().cases.front());
  ASSERT_TRUE(loaded.instance);
  Requests requests;
  add(requests, GetParam().cases.front());
  EXPECT_NONFATAL_FAILURE((void)execute(*loaded.instance, requests).ok(),
                          "request 'fp32-0', number 1 of a batch of 1, was not answered within");
}
INSTANTIATE_TEST_SUITE_P(Mistakes, ForgottenRequest, ::testing::Values(forgetful("forgets them again")));

INSTANTIATE_TEST_SUITE_P(
    Fakes, BackendConformance,
    ::testing::Values(
        BackendProvider{"fake",
                        fake_backend,
                        identity_cases(),
                        InstanceKind::kCpu,
                        {},
                        {unsupported("ALoadWithoutFilesFails", "the fake backend reads no files")}},
        BackendProvider{
            "late",
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
             expected_failure("LoadAndUnloadRepeat", "on purpose"),
             expected_failure("EachOutputCanBeAskedForAlone", "on purpose"),
             expected_failure("OutputsGoToTheirPlacesInWhateverOrderTheyAreAskedFor", "on purpose")}}));

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
