// Outputs in device memory, and outputs that are ready later: what a context makes of them before anybody
// reads them.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_shared_memory.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/region_tensors.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/testing/output_leaks.h"

namespace atl::frontends {
namespace {

class TestCall final : private ResponseReceiver {
 public:
  void start(test::FakeServedModel& served) {
    served.add_reference();
    context.model = ModelRef(&served);
    context.begin(0);
  }

  InferContext context{*this};
  std::string answered;  ///< the bytes of the outputs, those in their place as "placed", or the error

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    if (!single_.add(context, response, flags)) return;
    Result<Response*> only = single_.take_only(context);
    if (!only.ok()) {
      answered = only.status().message();
      return;
    }
    const ArenaList<OutputTensor>& outputs = only.value()->outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_placed(context.request.find_output(outputs[i].name, i), outputs[i])) {
        answered += "placed";
      } else {
        EXPECT_TRUE(is_host_ready(outputs[i].buffer));
        answered.append(static_cast<const char*>(outputs[i].buffer.data), outputs[i].buffer.size_bytes);
      }
    }
    context.discard(only.value());
  }
  void recycle() noexcept override { context.reset(); }

  SingleResponse single_;
};

class DeviceOutputsTest : public ::testing::Test {
 protected:
  DeviceOutputsTest() : model_(catalog_.add_identity("m")) {
    EXPECT_TRUE(devices_.open().ok());
    call_.context.regions.set_source(shared_memory_.get(), {}, &devices_);
    model_.respond = [this](Request& request) {
      respond_(request);
      (void)request.release().ok();
    };
  }
  ~DeviceOutputsTest() override {
    EXPECT_TRUE(leaks_.none());
    EXPECT_EQ(model_.references(), 0);
    devices_.close();
  }
  void provide_devices() {
    host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kDevicesMinor);
    test::publish_service_changed(host_, Memory::kInterfaceId, "gpu");
  }
  /// \param place  where the output is wanted; data null: anywhere
  void ask(const Buffer& place = {}) {
    call_.start(model_);
    RequestedOutput& wanted = call_.context.request.add_output();
    wanted.name = "O";
    wanted.placement = place;
    ASSERT_TRUE(call_.context.submit().ok());
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
  const test_support::OutputLeaks leaks_;
  TestCall call_;
  std::function<void(Request&)> respond_;
};

TEST_F(DeviceOutputsTest, WhoWritesWithTheCpuNeedNotKnowThatTheClientWantsItOnADevice) {
  provide_devices();
  const std::string written(test_support::kLargeOutput, 'a');
  const Buffer place = gpu_.make(std::string(written.size(), '-') + "----", 1);
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    OutputTensor& output = add(*response, written.size());
    EXPECT_EQ(output.buffer.kind, MemoryKind::kCpu);
    write(output, written);
    response->send();
  };
  ask(place);
  EXPECT_EQ(call_.answered, "placed");
  EXPECT_EQ(gpu_.read(place), written + "----");
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
      EXPECT_EQ(call_.answered, "");
      event.reach();
    });
    response->send();
  };
  ask(place);
  device.join();
  EXPECT_EQ(call_.answered, "placed");
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
  EXPECT_EQ(call_.answered, "late");
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
  EXPECT_EQ(call_.answered, "the device failed");
}

TEST_F(DeviceOutputsTest, ABackendsOwnDeviceMemoryIsCopied) {
  const Buffer own = gpu_.make("own.");
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    add(*response, 4).buffer = own;
    response->send();
  };
  ask();
  EXPECT_EQ(call_.answered, "output 'O' is in GPU memory, expected CPU memory");
  call_.answered.clear();
  provide_devices();
  ask();
  EXPECT_EQ(call_.answered, "own.");
  gpu_.free(own);
}

TEST_F(DeviceOutputsTest, WhatIsDroppedIsNotFreedUnderTheDevice) {
  test::FakeDeviceEvent discarded, unwanted;
  int waited = 0;
  auto reach = [&](test::FakeDeviceEvent& event, const OutputTensor& output) {
    return std::thread([&] {
      while (event.waiting() == 0) std::this_thread::yield();
      EXPECT_NE(output.sink_data, 0u) << "it is not freed yet";
      ++waited;
      event.reach();
    });
  };
  std::thread device;
  respond_ = [&](Request& request) {
    Response* response = request.sink->new_response();
    OutputTensor& first = add(*response, test_support::kLargeOutput);
    first.buffer.ready_after = &discarded;
    device = reach(discarded, first);
    request.sink->discard(response);
    device.join();
    response = request.sink->new_response();
    OutputTensor& output = response->add_output("not asked for", DataType::kUint8, {});
    EXPECT_TRUE(response->allocate(output, test_support::kLargeOutput).ok());
    output.buffer.ready_after = &unwanted;
    device = reach(unwanted, output);
    response->send();
    device.join();
  };
  ask();
  EXPECT_EQ(waited, 2);
  EXPECT_EQ(call_.answered, "");
}

}  // namespace
}  // namespace atl::frontends
