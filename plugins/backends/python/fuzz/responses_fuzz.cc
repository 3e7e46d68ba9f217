// Any bytes as what a worker has written into its memory, and says that they are the responses of two requests. The first byte says of which
// model, and whether the batch has returned.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"
#include "backends/python/calls/executions.h"
#include "fuzz_target.h"

namespace {

using namespace atl;
using namespace atl::python;

class Worker final : private SlabTable::Sender, private Executions::Returned {
 public:
  void say(uint8_t how, std::span<const uint8_t> bytes) {
    auto slab = slabs_.add(SlabOwner::kWorker, kBytes);
    if (!slab.ok()) std::abort();
    ModelSource model;
    for (const char* output : {"A", "C"}) {
      TensorSpec spec;
      spec.name = output;
      spec.datatype = DataType::kFp32;
      spec.dims = {2};
      model.model.outputs.push_back(spec);
    }
    UnknownOutputs outputs(model, host_.log());
    ExecutionContext context{"m", (how & 1) != 0, nullptr, &host_.clock(), &host_.log()};
    context.outputs = &outputs;
    Executions executions(context, blocks_, slabs_);
    test::TestRequest requests[2];
    Request* pointers[2] = {};
    for (int i = 0; i < 2; ++i) {
      requests[i].add_input("INPUT0", DataType::kFp32, {2}, std::vector<float>{1, 2});
      for (const char* output : {"A", "B"}) requests[i].add_output(output);
      requests[i].mark_accepted();
      pointers[i] = &requests[i].request();
    }
    RingMessage message;
    if (!executions.prepare(pointers, 1, message).ok() || !executions.begin([] { return true; }))
      std::abort();
    std::byte* at = slab->region->data();
    const size_t size = std::min<size_t>(bytes.size(), kBytes);
    if (size != 0) std::memcpy(at, bytes.data(), size);
    message.flags = (how & 2) != 0 ? static_cast<uint32_t>(kExecuteReturned) : 0u;
    const Status status = executions.take(message, PayloadView(at, size), *this);
    if (!status.ok() && status.message().empty()) std::abort();
    executions.fail_all(unavailable("the end"));
    for (test::TestRequest& request : requests) {
      if (!request.done() || !request.problems().empty()) std::abort();
    }
  }

 private:
  static constexpr uint64_t kBytes = 64 << 10;
  bool send_slab(const SlabPacket&, int) noexcept override { return true; }
  void on_returned() noexcept override {}

  test::FakeHost host_;
  SlabTable slabs_{"fuzz", 1 << 20, *this};
  BlockAllocator blocks_{slabs_, 64 << 10};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size != 0) std::make_unique<Worker>()->say(data[0], {data + 1, size - 1});
  return 0;
}
