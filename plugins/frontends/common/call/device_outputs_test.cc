// Outputs in device memory, and outputs that are ready later: what a context makes of them before anybody
// reads them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_shared_memory.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "frontends/common/call/region_tensors.h"
#include "frontends/common/call/unary_infer_context.h"

namespace atl::frontends {
namespace {

class TestContext final : public UnaryInferContext {
 public:
  void start(test::FakeServedModel& served) {
    served.add_reference();
    model = ModelRef(&served);
    begin(0);
  }
  Status hand_over() { return submit(); }

  std::string answered;  ///< the bytes of the outputs, those in their place as "placed", or the error
  int live_buffers = 0;

 private:
  Status allocate_output(Response&, OutputTensor& output, uint64_t size_bytes) noexcept override {
    drop_output(output);
    output.buffer = {};
    output.buffer.data = std::malloc(size_bytes + 1);
    output.buffer.size_bytes = size_bytes;
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
    ++live_buffers;
    return {};
  }
  void drop_output(OutputTensor& output) noexcept override {
    void* data = reinterpret_cast<void*>(std::exchange(output.sink_data, 0));
    if (data == nullptr) return;
    std::free(data);
    --live_buffers;
  }
  void answer(Response& response) noexcept override {
    for (size_t i = 0; i < response.outputs.size(); ++i) {
      const OutputTensor& output = response.outputs[i];
      if (is_placed(request.find_output(output.name, i), output)) {
        answered += "placed";
      } else {
        EXPECT_TRUE(is_host_ready(output.buffer));
        answered.append(static_cast<const char*>(output.buffer.data), output.buffer.size_bytes);
      }
    }
    drop_outputs(response);
  }
  void answer_error(const Status& status) noexcept override { answered = status.message(); }
  // See infer_context_call_test.cc.
  Result<bool> parse_request() noexcept override { return true; }
  Status read_head() noexcept override { return {}; }
  void to_own_thread() noexcept override {}
  void recycle() noexcept override { reset_request(); }
};

class DeviceOutputsTest : public ::testing::Test {
 protected:
  DeviceOutputsTest() : model_(catalog_.add_identity("m")) {
    EXPECT_TRUE(devices_.open().ok());
    context_.regions.set_source(shared_memory_.get(), {}, &devices_);
    model_.respond = [this](Request& request) {
      respond_(request);
      (void)request.release().ok();
    };
  }
  ~DeviceOutputsTest() override {
    EXPECT_EQ(context_.live_buffers, 0);
    EXPECT_EQ(model_.references(), 0);
    devices_.close();
  }
  void provide_devices() {
    host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kDevicesMinor);
    test::publish_service_changed(host_, Memory::kInterfaceId, "gpu");
  }
  /// \param place  where the output is wanted; data null: anywhere
  void ask(const Buffer& place = {}) {
    context_.start(model_);
    RequestedOutput& wanted = context_.request.add_output();
    wanted.name = "O";
    wanted.placement = place;
    ASSERT_TRUE(context_.hand_over().ok());
  }
  static OutputTensor& add(Response& response, uint64_t size_bytes, MemoryKind preferred = MemoryKind::kCpu) {
    const int64_t shape[] = {static_cast<int64_t>(size_bytes)};
    OutputTensor& output = response.add_output("O", DataType::kUint8, shape);
    EXPECT_TRUE(response.allocate(output, size_bytes, preferred).ok());
    return output;
  }
  static void write(const OutputTensor& output, std::string_view text) {
    std::copy(text.begin(), text.end(), static_cast<char*>(output.buffer.data));
  }

  test::FakeHost host_;
  test::FakeDeviceMemory gpu_;
  DeviceMemory devices_{host_};
  test::FollowedFake<SharedMemory> shared_memory_;
  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_;
  TestContext context_;
  std::function<void(Request&)> respond_;
};

TEST_F(DeviceOutputsTest, WhoWritesWithTheCpuNeedNotKnowThatTheClientWantsItOnADevice) {
  provide_devices();
  const Buffer place = gpu_.make("--------", 1);
  respond_ = [](Request& request) {
    Response* response = request.sink->new_response();
    OutputTensor& output = add(*response, 4);
    EXPECT_EQ(output.buffer.kind, MemoryKind::kCpu);
    write(output, "abcd");
    response->send();
  };
  ask(place);
  EXPECT_EQ(context_.answered, "placed");
  EXPECT_EQ(gpu_.read(place), "abcd----");
  gpu_.free(place);
}

TEST_F(DeviceOutputsTest, WhoWritesOnTheDeviceGetsTheClientsPlaceAndItIsWaitedFor) {
  provide_devices();
  const Buffer place = gpu_.make("----", 1);
  test::FakeDeviceEvent event;
  std::thread device;
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    OutputTensor& output = add(*response, 4, MemoryKind::kGpu);
    EXPECT_EQ(output.buffer.data, place.data);
    EXPECT_EQ(output.buffer.device_id, 1);
    output.buffer.ready_after = &event;
    device = std::thread([&] {
      while (event.waiting() == 0) std::this_thread::yield();
      EXPECT_EQ(context_.answered, "");
      event.reach();
    });
    response->send();
  };
  ask(place);
  device.join();
  EXPECT_EQ(context_.answered, "placed");
  gpu_.free(place);
}

TEST_F(DeviceOutputsTest, BytesThatArriveLaterAreWaitedFor) {
  test::FakeDeviceEvent event;
  std::thread device;
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    OutputTensor& output = add(*response, 4, MemoryKind::kGpu);
    EXPECT_EQ(output.buffer.kind, MemoryKind::kCpu);
    write(output, "----");
    output.buffer.ready_after = &event;
    device = std::thread([&event, output] {
      while (event.waiting() == 0) std::this_thread::yield();
      write(output, "late");
      event.reach();
    });
    response->send();
  };
  ask();
  device.join();
  EXPECT_EQ(context_.answered, "late");
}

TEST_F(DeviceOutputsTest, BytesThatAreLostAreAnError) {
  test::FakeDeviceEvent event;
  event.reach(internal_error("the device failed"));
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    add(*response, 4).buffer.ready_after = &event;
    response->send();
  };
  ask();
  EXPECT_EQ(context_.answered, "the device failed");
}

TEST_F(DeviceOutputsTest, ABackendsOwnDeviceMemoryIsCopied) {
  const Buffer own = gpu_.make("own.");
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    add(*response, 4).buffer = own;
    response->send();
  };
  ask();
  EXPECT_EQ(context_.answered, "output 'O' is in GPU memory, expected CPU memory");
  context_.answered.clear();
  provide_devices();
  ask();
  EXPECT_EQ(context_.answered, "own.");
  gpu_.free(own);
}

TEST_F(DeviceOutputsTest, WhatIsDroppedIsNotFreedUnderTheDevice) {
  test::FakeDeviceEvent discarded, unwanted;
  int waited = 0;
  auto reach = [&](test::FakeDeviceEvent& event) {
    return std::thread([&] {
      while (event.waiting() == 0) std::this_thread::yield();
      EXPECT_EQ(context_.live_buffers, 1);
      ++waited;
      event.reach();
    });
  };
  std::thread device;
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    add(*response, 4).buffer.ready_after = &discarded;
    device = reach(discarded);
    request.sink->discard(response);
    device.join();
    response = request.sink->new_response();
    OutputTensor& output = response->add_output("not asked for", DataType::kUint8, {});
    EXPECT_TRUE(response->allocate(output, 4).ok());
    output.buffer.ready_after = &unwanted;
    device = reach(unwanted);
    response->send();
    device.join();
  };
  ask();
  EXPECT_EQ(waited, 2);
  EXPECT_EQ(context_.answered, "");
}

}  // namespace
}  // namespace atl::frontends
