/// ImplicitState beside a model of it that is too plain to be wrong, over seeded random operations. To repeat
/// one seed: ATOLL_SIMULATION_SEED=<seed> schedulers_common_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/sanitized.h"
#include "schedulers/common/testing/state_bench.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kStateSeeds = test::kSanitized ? 20 : 150;
constexpr int kStateSteps = 1'000;

struct PlainValue {
  std::vector<int64_t> shape;
  std::string bytes;
};

class ImplicitStateProperty : public StateBench {
 protected:
  struct Plain {
    StateTensor tensor;
    PlainValue present, next;
    bool has_output = false;
  };

  void run(uint64_t seed) {
    random_ = test::Random(seed);
    choose_tensors();
    std::vector<StateTensor> tensors;
    for (const Plain& one : plain_) tensors.push_back(one.tensor);
    make(std::move(tensors), batches_);
    cpu.set_limit(0);
    begun_once_ = false;
    random_.chance(50) ? provide("cpu", cpu, minor()) : withdraw("cpu");
    random_.chance(50) ? provide("gpu", gpu, minor()) : withdraw("gpu");
    state_ = states->make();
    begin();
    for (int i = 0; i < kStateSteps && !HasFailure(); ++i) {
      const uint64_t choice = random_.below(100);
      cpu.set_limit(random_.chance(10) ? 1 + random_.below(20'000) : 0);
      if (choice < 5) {
        begin();
      } else if (choice < 40) {
        attach();
      } else if (choice < 75) {
        output();
      } else {
        commit();
      }
    }
    state_.reset();
    EXPECT_EQ(states->bytes_held(), 0u);
    EXPECT_EQ(cpu.live() + gpu.live(), 0u);
    plain_.clear();
  }

 private:
  uint32_t minor() { return random_.chance(70) ? Memory::kGrowableMinor : Memory::kDevicesMinor; }
  void choose_tensors() {
    batches_ = random_.chance(50);
    const int64_t count = random_.between(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      Plain one;
      const bool texts = random_.chance(30);
      const int64_t initial = random_.between(0, random_.chance(30) ? 2000 : 20);
      one.tensor = state_tensor(cat("I", i), cat("O", 9 - i), texts ? DataType::kBytes : DataType::kInt16,
                                {-1, 2}, {initial, 2});
      one.tensor.same_buffer = random_.chance(30);
      one.tensor.growable = one.tensor.same_buffer && random_.chance(50);
      if (random_.chance(50) && initial != 0) set_initial_data(one.tensor, noise(bytes_for(one, initial)));
      plain_.push_back(one);
    }
  }
  uint64_t bytes_for(const Plain& one, int64_t rows) {
    const auto elements = static_cast<uint64_t>(rows) * 2;
    return one.tensor.datatype == DataType::kBytes ? elements * 4 + random_.below(50) : elements * 2;
  }
  std::string noise(uint64_t size_bytes) {
    std::string bytes(size_bytes, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.next());
    return bytes;
  }
  std::vector<int64_t> shape_of(int64_t rows) const {
    return batches_ ? std::vector<int64_t>{1, rows, 2} : std::vector<int64_t>{rows, 2};
  }
  std::string bytes_in(const Buffer& buffer) {
    return buffer.kind == MemoryKind::kGpu ? gpu.read(buffer) : text_in(buffer);
  }

  void begin() {
    request_.reset();
    const Status status = state_->begin();
    for (Plain& one : plain_) one.has_output = false;
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kResourceExhausted);
      if (begun_once_) return attach();
      cpu.set_limit(0);
      return begin();
    }
    begun_once_ = true;
    for (Plain& one : plain_) {
      const auto& data = one.tensor.initial_data;
      one.present.shape = shape_of(one.tensor.initial_dims[0]);
      one.present.bytes.assign(reinterpret_cast<const char*>(data.data()), data.size());
      if (data.empty()) {
        const uint64_t element = one.tensor.datatype == DataType::kBytes ? 4 : 2;
        one.present.bytes.assign(static_cast<uint64_t>(one.tensor.initial_dims[0]) * 2 * element, '\0');
      }
    }
    attach();
  }
  void attach() {
    if (random_.chance(50)) request_.reset();
    state_->attach(request_);
    for (Plain& one : plain_) {
      one.has_output = false;
      const InputTensor* input = request_.find_input(one.tensor.input_name);
      ASSERT_NE(input, nullptr);
      EXPECT_EQ(schedulers::shape_in(request_, one.tensor.input_name), one.present.shape);
      EXPECT_EQ(input->size_bytes, one.present.bytes.size());
      EXPECT_EQ(bytes_in(input->buffers[0]), one.present.bytes);
    }
  }
  void output() {
    Plain& one = plain_[random_.below(plain_.size())];
    const int64_t rows = random_.between(0, random_.chance(30) ? 3000 : 20);
    PlainValue value{shape_of(rows), noise(bytes_for(one, rows))};
    const MemoryKind kind = random_.chance(30) ? MemoryKind::kGpu : MemoryKind::kCpu;
    Buffer buffer;
    const Status status = state_->output(one.tensor.output_name, one.tensor.datatype, value.shape,
                                         value.bytes.size(), kind, random_.between(0, 2), &buffer);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.message();
      return;
    }
    ASSERT_EQ(buffer.size_bytes, value.bytes.size());
    if (one.tensor.same_buffer) {
      const size_t kept = std::min(one.present.bytes.size(), value.bytes.size());
      EXPECT_EQ(bytes_in(buffer).substr(0, kept), one.present.bytes.substr(0, kept));
    }
    Buffer from;
    from.data = value.bytes.data();
    from.size_bytes = value.bytes.size();
    if (from.size_bytes != 0) {
      ASSERT_TRUE(
          (buffer.kind == MemoryKind::kGpu ? gpu.copy(buffer, from) : copy_on_host(buffer, from)).ok());
    }
    one.has_output = true;
    (one.tensor.same_buffer ? one.present : one.next) = std::move(value);
  }
  void commit() {
    Plain& one = plain_[random_.below(plain_.size())];
    const Status status = state_->commit(one.tensor.output_name);
    EXPECT_EQ(status.ok(), one.has_output) << status.message();
    if (status.ok() && !one.tensor.same_buffer) one.present = one.next;
    one.has_output = false;
  }

  test::Random random_{0};
  std::vector<Plain> plain_;
  bool batches_ = false;
  bool begun_once_ = false;
  ImplicitStatePtr state_;
  Request request_;
};

TEST_F(ImplicitStateProperty, EveryStepSeesWhatTheLastOneCommitted) {
  if (const char* seed = std::getenv("ATOLL_SIMULATION_SEED"); seed != nullptr) {
    return run(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kStateSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    run(seed);
  }
}

}  // namespace
}  // namespace atl::schedulers
