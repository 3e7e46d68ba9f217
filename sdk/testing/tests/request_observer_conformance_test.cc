/// The suite of request observers against ones that are right and broken on purpose.
#include <atomic>

#include "atoll/testing/conformance/request_observer.h"

namespace atl::test {
namespace {

enum class ObserverFault { kNone, kTakesSome, kCancels, kWritesIntoOutputs };

class Watcher final : public RequestObserver {
 public:
  explicit Watcher(ObserverFault fault) : fault_(fault) {}
  virtual ~Watcher() { EXPECT_EQ(open_, 0); }
  bool active() const noexcept override { return true; }
  RequestObservation* begin(const Request& request) noexcept override {
    if (fault_ == ObserverFault::kTakesSome) return nullptr;
    if (fault_ == ObserverFault::kCancels) const_cast<Request&>(request).cancellation.cancel();
    ++open_;
    return new Observation(*this);
  }

 private:
  class Observation final : public RequestObservation {
   public:
    explicit Observation(Watcher& watcher) : watcher_(watcher) {}
    virtual ~Observation() { --watcher_.open_; }
    void on_response(const Request&, const Response* response, uint32_t) noexcept override {
      if (watcher_.fault_ != ObserverFault::kWritesIntoOutputs || response == nullptr) return;
      for (const OutputTensor& output : response->outputs) {
        if (output.buffer.size_bytes != 0) std::memset(output.buffer.data, 0, 1);
      }
    }
    void ended(const Request&, const Status&) noexcept override { delete this; }

   private:
    Watcher& watcher_;
  };

  const ObserverFault fault_;
  std::atomic<int> open_{0};
};

RequestObserverProvider watcher(std::string name, ObserverFault fault,
                                const std::vector<std::string>& fails = {}) {
  RequestObserverProvider provider;
  provider.name = std::move(name);
  provider.make = [fault] { return std::make_shared<Watcher>(fault); };
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

INSTANTIATE_TEST_SUITE_P(
    Watchers, RequestObserverConformance,
    ::testing::Values(watcher("right", ObserverFault::kNone),
                      watcher("takes_some", ObserverFault::kTakesSome,
                              {"ARequestAndItsResponsesAreLeftAsTheyAre", "AFailureAndARefusalEndARequest",
                               "ManyThreadsAreObservedAtATime"}),
                      watcher("cancels", ObserverFault::kCancels,
                              {"ARequestAndItsResponsesAreLeftAsTheyAre"}),
                      watcher("writes_into_outputs", ObserverFault::kWritesIntoOutputs,
                              {"ARequestAndItsResponsesAreLeftAsTheyAre", "ManyThreadsAreObservedAtATime"})));

}  // namespace
}  // namespace atl::test
