#include "request_path.h"

#include <stdexcept>
#include <utility>

#include "atoll/runtime/fault_report.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/http/codec/infer_request.h"
#include "frontends/http/codec/infer_response.h"
#include "grpc_service.pb.h"

namespace atl::bench {
namespace {

using frontends::InferContext;
using frontends::kInlineBytes;
using frontends::SingleResponse;
using frontends::V2InferRequest;
using frontends::V2InferResponse;

constexpr uint32_t kElements = 16;
constexpr int kWarmUp = 64;

constexpr char kConfig[] = R"(
  backend: "identity"
  input { name: "INPUT0" data_type: TYPE_FP32 dims: 16 }
  output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 16 })";

/// What the two transports share.
class PathCall : public Path, private frontends::ResponseReceiver {
 public:
  explicit PathCall(ServedIdentity& served) { infer_.memory.set_source(served.budgets()); }
  size_t run() override {
    infer_.begin(0);
    answer_bytes_ = 0;
    if (!infer_.memory.add(InferContext::kRequestBytes).ok() || !prepare().ok()) {
      infer_.abandon();
      return 0;
    }
    return infer_.submit().ok() ? answer_bytes_ : 0;
  }

 protected:
  /// Reads the request and finds its model.
  virtual Status prepare() noexcept = 0;
  virtual void answer(Response& response) noexcept = 0;
  virtual void clear() noexcept = 0;

  InferContext infer_{*this};
  size_t answer_bytes_ = 0;

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    if (!single_.add(infer_, response, flags)) return;
    Result<Response*> only = single_.take_only(infer_);
    if (!only.ok()) return;
    answer(*only.value());
    infer_.reclaim(only.value());
  }
  void recycle() noexcept override {
    clear();
    infer_.reset();
  }

  SingleResponse single_;
};

class GrpcPath final : public PathCall {
 public:
  explicit GrpcPath(ServedIdentity& served) : PathCall(served), served_(served), bytes_(grpc_message()) {}

 private:
  Status prepare() noexcept override {
    const frontends::ByteSpan slice(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
    ATOLL_RETURN_IF_ERROR(message_.parse({&slice, 1}, infer_.request.arena()));
    Result<ModelRef> found = served_.catalog().acquire(message_.model_name(), -1);
    if (!found.ok()) return std::move(found).status();
    infer_.model = std::move(found).value();
    return message_.fill(infer_.request, infer_.regions);
  }
  void answer(Response& response) noexcept override {
    const ModelInfo& info = infer_.model->info();
    V2InferResponse message(info.name, info.version_text, infer_.request, response, kInlineBytes);
    head_.resize(message.head_bytes());
    for (const auto& part : message.write(head_.data())) answer_bytes_ += part.bytes.size();
  }
  void clear() noexcept override { message_.reset(); }

  ServedIdentity& served_;
  const std::string bytes_;
  V2InferRequest message_;
  std::vector<uint8_t> head_;
};

class HttpPath final : public PathCall {
 public:
  HttpPath(ServedIdentity& served, std::string json, std::string tensors)
      : PathCall(served), served_(served), json_bytes_(json.size()), body_(std::move(json) + tensors) {
    size_ = body_.size();
    body_.append(frontends::http::kJsonPaddingBytes, '\0');
    binary_ = !tensors.empty();
  }

 private:
  Status prepare() noexcept override {
    Result<ModelRef> found = served_.catalog().acquire(ServedIdentity::kModel, -1);
    if (!found.ok()) return std::move(found).status();
    infer_.model = std::move(found).value();
    frontends::http::InferBody body{{reinterpret_cast<const uint8_t*>(body_.data()), size_}, std::nullopt};
    if (binary_) body.json_bytes = json_bytes_;
    return reader_.read(body, infer_.model->info(), infer_.request, parts_, infer_.regions);
  }
  void answer(Response& response) noexcept override {
    auto reply = frontends::http::write_infer_response(infer_.model->info(), infer_.request, parts_.reply,
                                                       response, head_);
    if (reply.ok()) answer_bytes_ = reply->total_bytes;
  }
  void clear() noexcept override { parts_.reset(); }

  ServedIdentity& served_;
  size_t json_bytes_, size_;
  std::string body_;
  bool binary_;
  frontends::http::InferRequestReader reader_;
  frontends::http::InferParts parts_;
  frontends::JsonOutput head_;
};

}  // namespace

ServedIdentity::ServedIdentity()
    : host_("catalog"), backend_(host_.clock()), scheduler_(schedulers::DefaultSettings{}) {
  host_.options()
      .set_bool("strict_readiness", true)
      .set_bool("auto_complete_config", true)
      .set_int("default_max_batch_size", 4)
      .set_int("load_retry_count", 0)
      .set_duration_ns("warmup_timeout", 60 * kNsPerSecond)
      .set_map("backend_settings", {})
      .set_bool("namespacing", false)
      .set_map("gpu_load_limit", {})
      .set_map("host_policies", {})
      .set_duration_ns("sequence_drain", 20 * kNsPerSecond);
  host_.registry().publish<Repository>("repository", repository_);
  host_.registry().publish<ModelConfigs>("configs", configs_);
  host_.registry().publish<Backend>("identity", backend_);
  host_.registry().publish<SchedulerProvider>("default", scheduler_);
  plugin_ = std::make_unique<models::CatalogPlugin>(host_);
  host_.registry().publish<FaultNotes>("kernel", runtime::fault_notes());
  host_.registry().publish<RequestMemory>("host", request_memory_);
  if (!plugin_->init().ok() || !plugin_->start().ok() || !budgets_.open().ok())
    throw std::runtime_error("the catalog does not start");
  repository_.put(kModel, {1}, kConfig);
  Status status = internal_error("the load did not end");
  catalog().load({kModel},
                 [&](const std::vector<ModelLoadResult>& got) { status = got.at(0).status.clone(); });
  host_.run_ready();
  if (!status.ok()) throw std::runtime_error(status.text());
}

ServedIdentity::~ServedIdentity() {
  host_.gate().close();
  plugin_->drain(0);
  host_.run_ready();
  plugin_->stop();
  host_.run_ready();
}

ModelCatalog& ServedIdentity::catalog() noexcept { return plugin_->catalog(); }

void Path::warm_up(ServedIdentity& served) {
  for (int i = 0; i < kWarmUp; ++i) {
    run();
    served.run_ready();
  }
  if (run() == 0) throw std::runtime_error("the request is not answered on the thread that brings it");
}

std::string grpc_message() {
  inference::ModelInferRequest message;
  message.set_model_name(ServedIdentity::kModel);
  auto* input = message.add_inputs();
  input->set_name("INPUT0");
  input->set_datatype("FP32");
  input->add_shape(kElements);
  message.add_raw_input_contents(std::string(kElements * sizeof(float), '\1'));
  return message.SerializeAsString();
}

std::unique_ptr<Path> grpc_path(ServedIdentity& served) { return std::make_unique<GrpcPath>(served); }

std::unique_ptr<Path> http_binary_path(ServedIdentity& served) {
  return std::make_unique<HttpPath>(
      served,
      R"({"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[16],"parameters":{"binary_data_size":64}}],)"
      R"("parameters":{"binary_data_output":true}})",
      std::string(kElements * sizeof(float), '\1'));
}

std::unique_ptr<Path> http_json_path(ServedIdentity& served) {
  return std::make_unique<HttpPath>(
      served,
      R"({"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[16],)"
      R"("data":[0.5,1.5,2.5,3.5,4.5,5.5,6.5,7.5,8.5,9.5,10.5,11.5,12.5,13.5,14.5,15.5]}]})",
      "");
}

}  // namespace atl::bench
