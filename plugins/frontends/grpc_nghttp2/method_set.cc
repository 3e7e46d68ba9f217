#include "frontends/grpc_nghttp2/method_set.h"

#include <utility>

#include "frontends/common/grpc/method_list.h"
#include "frontends/grpc_nghttp2/contributed_call.h"
#include "frontends/grpc_nghttp2/infer_call.h"
#include "frontends/grpc_nghttp2/infer_stream.h"
#include "frontends/grpc_nghttp2/management_call.h"
#include "frontends/grpc_nghttp2/reflection_call.h"

namespace atl::frontends::grpc_nghttp2 {

class MethodSet::InferMethod final : public Method {
 public:
  explicit InferMethod(CallThread& thread) : thread_(thread) {
    max_message_bytes = static_cast<uint64_t>(thread.frontend.settings.max_message_bytes);
  }
  virtual ~InferMethod() = default;
  void begin(CallStream& stream, Message message) noexcept override {
    InferCall::begin(thread_, stream, std::move(message));
  }

 private:
  CallThread& thread_;
};

class MethodSet::StreamMethod final : public Method {
 public:
  explicit StreamMethod(CallThread& thread) : thread_(thread) {
    max_message_bytes = static_cast<uint64_t>(thread.frontend.settings.max_message_bytes);
    reads_several = true;
  }
  virtual ~StreamMethod() = default;
  void begin(CallStream& stream, Message) noexcept override { InferStream::begin_call(thread_, stream); }

 private:
  CallThread& thread_;
};

template <class Request, class Response>
class MethodSet::ManagementMethod final : public OwnedMethod, public Method {
 public:
  using Listed = ListedMethod<Request, Response>;

  ManagementMethod(const Listed& listed, CallThread& thread) : listed_(listed), thread_(thread) {
    max_message_bytes = Listed::max_bytes(static_cast<uint64_t>(thread.frontend.settings.max_message_bytes));
  }
  virtual ~ManagementMethod() = default;
  Method& method() noexcept override { return *this; }
  void begin(CallStream& stream, Message message) noexcept override {
    ManagementCall<Request, Response>::begin(listed_, thread_, stream, std::move(message));
  }

 private:
  const Listed listed_;
  CallThread& thread_;
};

class MethodSet::ReflectionMethod final : public OwnedMethod, public Method {
 public:
  ReflectionMethod(const char* path, CallThread& thread) : path_(path), thread_(thread) {
    max_message_bytes = kMostReflectionBytes;
    reads_several = true;
  }
  virtual ~ReflectionMethod() = default;
  Method& method() noexcept override { return *this; }
  void begin(CallStream& stream, Message) noexcept override { ReflectionCall::begin(path_, thread_, stream); }

 private:
  const char* const path_;
  CallThread& thread_;
};

class MethodSet::ContributedMethod final : public Method {
 public:
  ContributedMethod(std::string path, CallThread& thread) : path_(std::move(path)), thread_(thread) {
    max_message_bytes = static_cast<uint64_t>(thread.frontend.settings.max_message_bytes);
    reads_several = true;  // whether the call may be made is asked before its message is read
  }
  virtual ~ContributedMethod() = default;
  void begin(CallStream& stream, Message) noexcept override {
    ContributedCall::begin(thread_, path_, stream);
  }

 private:
  const std::string path_;
  CallThread& thread_;
};

MethodSet::MethodSet(GrpcCallContext& frontend, ServingThread& worker)
    : thread_(frontend, worker),
      infer_(std::make_unique<InferMethod>(thread_)),
      stream_infer_(std::make_unique<StreamMethod>(thread_)) {
  for_each_management_method(
      [this]<class Request, class Response>(const ListedMethod<Request, Response>& listed) {
        methods_.emplace(listed.path, std::make_unique<ManagementMethod<Request, Response>>(listed, thread_));
      });
  if (frontend.reflection == nullptr) return;
  for (const char* path : kReflectionPaths)
    methods_.emplace(path, std::make_unique<ReflectionMethod>(path, thread_));
}

MethodSet::~MethodSet() = default;

Method* MethodSet::find(std::string_view path) noexcept {
  if (path == kGrpcInferPath) return infer_.get();
  if (path == kGrpcStreamInferPath) return stream_infer_.get();
  const auto found = methods_.find(path);
  return found == methods_.end() ? find_contributed(path) : &found->second->method();
}

Method* MethodSet::find_contributed(std::string_view path) {
  const auto list = thread_.frontend.contributed->list();
  if (!list || list->listed(path) == nullptr) return nullptr;
  auto found = contributed_.find(path);
  if (found == contributed_.end()) {
    std::string name(path);
    auto method = std::make_unique<ContributedMethod>(name, thread_);
    found = contributed_.emplace(std::move(name), std::move(method)).first;
  }
  return found->second.get();
}

std::unique_ptr<MethodFinder> ServedMethods::make_methods(ServingThread& worker) {
  auto methods = std::make_unique<MethodSet>(frontend_, worker);
  threads_.push_back({worker, methods->thread()});
  return methods;
}

void ServedMethods::end_streams() noexcept {
  for (const OfThread& of : threads_) {
    of.worker.run([&thread = of.thread] { thread.end_streams(unavailable(messages::kGrpcShuttingDown)); });
  }
}

size_t ServedMethods::open_streams() const noexcept {
  size_t sum = 0;
  for (const OfThread& of : threads_) sum += of.thread.open_streams.load(std::memory_order_acquire);
  return sum;
}

}  // namespace atl::frontends::grpc_nghttp2
