/// ModelStreamInfer from the client's side, with models that answer when the test says so.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {

inline constexpr size_t kMiB = 1 << 20;

/// Keeps every request of a model until the test answers it.
class HeldModel {
 public:
  explicit HeldModel(test::FakeServedModel& model) {
    model.respond = [this](Request& request) {
      std::lock_guard lock(mutex_);
      requests_.push_back(&request);
    };
  }
  size_t count() const {
    std::lock_guard lock(mutex_);
    return requests_.size();
  }
  /// The request that came as number `index`.
  Request& at(size_t index) {
    EXPECT_TRUE(eventually([&] { return count() > index; })) << index;
    std::lock_guard lock(mutex_);
    return *requests_.at(index);
  }
  void answer(size_t index) {
    Request& request = at(index);
    test::answer_identity(request);
    (void)request.release().ok();
  }
  void answer_all(size_t from = 0) {
    for (size_t i = from; i < count(); ++i) answer(i);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Request*> requests_;
};

/// One response with an output of so many bytes, each `value`.
inline void send_bytes(Request& request, size_t size, char value, uint32_t flags) {
  Response* response = request.sink->new_response();
  const int64_t shape[] = {static_cast<int64_t>(size)};
  OutputTensor& output = response->add_output("OUT", DataType::kUint8, shape);
  ASSERT_TRUE(response->allocate(output, size).ok());
  std::memset(output.buffer.data, value, size);
  response->send(flags);
}
inline void end_request(Request& request) {
  request.sink->send(nullptr, kFinal);
  (void)request.release().ok();
}

class StreamTest : public GrpcFrontendTest {
 protected:
  using ClientStream =
      grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelStreamInferResponse>;
  using Answer = inference::ModelStreamInferResponse;

  test::FakeServedModel& add_decoupled(const std::string& name) {
    ModelInfo info;
    info.name = name;
    info.version = 1;
    info.decoupled = true;
    return catalog_.add(info);
  }
  std::unique_ptr<ClientStream> open(grpc::ClientContext* context) {
    return stub_->ModelStreamInfer(context);
  }

  static inference::ModelInferRequest numbered(const std::string& model, const std::string& id,
                                               size_t elements = 4) {
    inference::ModelInferRequest message = request(model, elements);
    message.set_id(id);
    return message;
  }
  static Answer read(ClientStream& stream) {
    Answer answer;
    EXPECT_TRUE(stream.Read(&answer));
    return answer;
  }
  static std::string id_of(const Answer& answer) { return answer.infer_response().id(); }
  /// "true", "false", or "" if the parameter is not there.
  static std::string final_flag(const Answer& answer) {
    const auto& parameters = answer.infer_response().parameters();
    auto found = parameters.find("triton_final_response");
    if (found == parameters.end()) return "";
    return found->second.bool_param() ? "true" : "false";
  }
  /// The client's end, and that nothing more comes.
  static grpc::Status finish(ClientStream& stream) {
    stream.WritesDone();
    return ended(stream);
  }
  static grpc::Status ended(ClientStream& stream) {
    Answer more;
    EXPECT_FALSE(stream.Read(&more)) << more.ShortDebugString();
    return stream.Finish();
  }
  /// Nothing of a call is left on the server.
  bool all_gone() {
    return eventually([this] { return calls() == 0; });
  }
};

}  // namespace atl::frontends::grpc_cases
