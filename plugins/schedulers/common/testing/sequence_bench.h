/// A scheduler of sequences over fake instances in a simulation.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/common/sequence/sequence_provider.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/scheduler_bench.h"

namespace atl::schedulers {

struct SequenceBenchSettings {
  uint32_t instances = 1;
  uint32_t max_batch_size = 2;
  std::string batching;  ///< fields of sequence_batching
  std::string model;     ///< other fields of the configuration
  SequenceProviderSettings provider = {};
  test::FakeAdmission* admission = nullptr;
};

/// Requests have the ids that a test gives them. What was executed is told as text: a batch is "A1 - B1", where
/// "-" is a row that nobody has a request for.
template <class Provider>
class SequenceBench : public SchedulerBench {
 public:
  explicit SequenceBench(const SequenceBenchSettings& settings)
      : SchedulerBench(
            settings.instances,
            [&](test::FakeHost& its_host) {
              SequenceProviderSettings its_settings = settings.provider;
              its_settings.log = &its_host.log();
              its_settings.clock = &its_host.clock();
              its_settings.state_memory = heap();
              return std::make_shared<Provider>(its_settings);
            },
            config_bytes(cat("max_batch_size: ", settings.max_batch_size, " sequence_batching { ",
                             settings.batching, " } ", settings.model)),
            settings.max_batch_size, settings.admission),
        batches_(settings.max_batch_size > 0) {}

  /// A request of a sequence that is not enqueued yet.
  /// \param width  of its input
  test::TestRequest& make(std::string_view id, uint64_t sequence, uint32_t flags = 0, int64_t width = 1) {
    requests.push_back(std::make_unique<test::TestRequest>(id));
    test::TestRequest& request = *requests.back();
    request->sequence.number = sequence;
    request->sequence_flags = flags;
    request->batch_size = batches_ ? 1 : 0;
    std::vector<int64_t> shape(batches_ ? 2 : 1, 1);
    shape.back() = width;
    request.add_input<float>("INPUT0", DataType::kFp32, shape,
                             std::vector<float>(static_cast<size_t>(width), 1.0f));
    return request;
  }
  test::TestRequest& send(std::string_view id, uint64_t sequence, uint32_t flags = 0, int64_t width = 1) {
    test::TestRequest& request = make(id, sequence, flags, width);
    Status status = request.enqueue(*scheduler);
    EXPECT_TRUE(status.ok()) << id << ": " << status.text();
    return request;
  }
  /// The failure of one that is not taken.
  std::string refusal(std::string_view id, uint64_t sequence, uint32_t flags = 0) {
    test::TestRequest request(id);
    request->sequence.number = sequence;
    request->sequence_flags = flags;
    const Status status = request.enqueue(*scheduler);
    return cat(code_name(status.code()), " ", status.text());
  }
  std::vector<std::string> timeline(size_t instance = 0) const {
    std::vector<std::string> batches;
    for (const test::RecordedBatch& batch : instances[instance]->batches()) {
      std::string& text = batches.emplace_back();
      for (const std::string& id : batch.ids) text += cat(text.empty() ? "" : " ", id.empty() ? "-" : id);
    }
    return batches;
  }
  /// What can go on without that time passes, so that nothing is silent for too long.
  void run() { host.run_ready(); }

 private:
  static StateMemory* heap() {
    static StateMemory memory;
    return &memory;
  }

  const bool batches_;
};

/// The first element of a control tensor; -1: the request has no such tensor.
inline int control_value(const Request& request, std::string_view name) {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return -1;
  int32_t value = 0;
  std::memcpy(&value, input->buffers[0].data, sizeof value);
  return value;
}

}  // namespace atl::schedulers
