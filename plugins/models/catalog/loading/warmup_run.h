/// One execution of a warm-up sample, and those that were not answered in time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "atoll/request/inner_request.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// One input of a sample, shared by all its requests.
struct SampleInput {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  std::string bytes;
};
using SampleInputs = std::shared_ptr<const std::vector<SampleInput>>;

/// The requests of one batch. Whoever holds the run keeps their memory, which backends use until the last one has ended.
class WarmupRun {
 public:
  explicit WarmupRun(SampleInputs inputs) : inputs_(std::move(inputs)) {}

  /// Makes one more request, of the inputs. Errors: Validator::validate()
  Status add(ServedModel& model);
  /// Hands the batch to the instance, which answers now or later. Once. Errors: BackendInstance::execute(); then nothing
  /// is left to wait for.
  Status execute(BackendInstance& instance, AdmittedInstance* admission, int64_t now_ns);
  /// Waits until every request has ended.
  /// \param gate        when it closes the wait is over
  /// \param timeout_ns  since execute() was called; 0: there is no limit
  /// Errors: UNAVAILABLE the server is going down; DEADLINE_EXCEEDED. The requests are cancelled then, and have not ended.
  Status wait(Clock& clock, const Gate& gate, int64_t timeout_ns);
  /// "<e1>; <e2>; " of requests that failed, once all have ended.
  std::string failures() const;
  /// \param then  called once when all have ended, by the thread that ends the last one or, if they have, by this one
  void when_ended(std::function<void()> then);

 private:
  /// Drops what it is answered, but for the first failure.
  class Sink final : public InnerRequest {
   public:
    explicit Sink(WarmupRun& run) : run_(run) {}
    virtual ~Sink() = default;
    Status failure;

   private:
    Status reserve(const OutputTensor& output, uint64_t size_bytes) noexcept override;
    void on_response(Response* response, uint32_t flags) noexcept override;
    void on_end() noexcept override { run_.one_ended(); }

    WarmupRun& run_;
  };
  void one_ended() noexcept;

  const SampleInputs inputs_;
  Request whole_;  ///< cancels all of them
  std::vector<std::unique_ptr<Sink>> sinks_;
  int64_t begun_ns_ = 0;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  size_t left_ = 0;
  std::function<void()> then_;
};

/// Runs that were not answered in time, with the versions that they are executed in: the load has failed, and the
/// memory stays until the backend has done with it. [any]
class LeftWarmups {
 public:
  /// Of one model before no more of its versions are warmed up.
  static constexpr uint32_t kMost = 8;

  explicit LeftWarmups(Host& host) : host_(host) {}
  LeftWarmups(const LeftWarmups&) = delete;
  LeftWarmups& operator=(const LeftWarmups&) = delete;

  /// Errors: RESOURCE_EXHAUSTED so many of the model are left
  Status check(const std::string& model) const;
  /// The version is destroyed on a worker thread when the run has ended; its pass keeps the plugin until then.
  void take(std::shared_ptr<WarmupRun> run, std::unique_ptr<ServedModel> version);
  /// "a warm-up request of model 'm' version 1 that was not answered"
  std::vector<std::string> texts() const;

 private:
  struct Left {
    std::shared_ptr<WarmupRun> run;
    std::unique_ptr<ServedModel> version;
    std::string model, text;
  };
  void end(uint64_t number);

  Host& host_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Left> left_;
  uint64_t last_ = 0;
};

}  // namespace atl::models
