/// An ensemble over scripted members.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/testing/tensor_bytes.h"
#include "model_config.pb.h"
#include "schedulers/ensemble/ensemble_provider.h"

namespace atl::ensemble {

/// A member as a configuration says it: inputs, outputs and what it is otherwise, in text format.
inline ModelInfo member_info(const std::string& name, const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  ModelInfo info;
  info.name = name;
  info.version = 1;
  info.max_batch_size = static_cast<uint32_t>(config.max_batch_size());
  info.decoupled = config.model_transaction_policy().decoupled();
  const auto specs = [](const auto& tensors, std::vector<TensorSpec>* to) {
    for (const auto& tensor : tensors) {
      to->emplace_back();
      to->back().name = tensor.name();
      to->back().datatype = static_cast<DataType>(tensor.data_type());
      to->back().dims.assign(tensor.dims().begin(), tensor.dims().end());
    }
  };
  specs(config.input(), &info.inputs);
  specs(config.output(), &info.outputs);
  for (int i = 0; i < config.input_size(); ++i) {
    info.inputs[static_cast<size_t>(i)].optional = config.input(i).optional();
    info.required_inputs += config.input(i).optional() ? 0 : 1;
  }
  return info;
}

/// An INT64 input "X" and output "Y" of any length.
inline constexpr char kEnds[] = R"(input { name: "X" data_type: TYPE_INT64 dims: -1 }
                                   output { name: "Y" data_type: TYPE_INT64 dims: -1 } )";

/// A step of a member with one input "IN" and one output "OUT".
inline std::string step(const std::string& model, const std::string& from, const std::string& to) {
  return "step { model_name: \"" + model + "\" model_version: -1 input_map { key: \"IN\" value: \"" + from +
         "\" } output_map { key: \"OUT\" value: \"" + to + "\" } } ";
}

/// A configuration of these steps. \param more  of ensemble_scheduling
inline std::string ensemble_of(const std::string& steps, const std::string& more = {}) {
  return kEnds + ("ensemble_scheduling { " + steps + more + " }");
}

class EnsembleBench {
 public:
  explicit EnsembleBench(const std::string& name = "e",
                         test::FakeHost::Threads threads = test::FakeHost::Threads::kSimulated)
      : host(name, threads) {}
  ~EnsembleBench() {
    scheduler.reset();
    for (auto& request : requests) {
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
    for (test::FakeServedModel* model : served) EXPECT_EQ(model->references(), 0);
  }

  test::FakeServedModel& add_member(const std::string& name, const std::string& config) {
    test::FakeServedModel& model = catalog.add(member_info(name, config));
    served.push_back(&model);
    return model;
  }
  /// One input "IN" and one output "OUT", INT64 of any length.
  test::FakeServedModel& add_simple(const std::string& name, const std::string& more = {}) {
    return add_member(name, R"(input { name: "IN" data_type: TYPE_INT64 dims: -1 }
                               output { name: "OUT" data_type: TYPE_INT64 dims: -1 } )" +
                                more);
  }
  /// \param text  of the ensemble's configuration, without name and platform
  Status create(const std::string& text) {
    inference::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
    config.set_name("e");
    config.set_platform("ensemble");
    std::vector<Model*> members;
    for (const auto& step : config.ensemble_scheduling().step()) {
      Result<ModelRef> found = catalog.acquire(step.model_name(), ModelCatalog::kLatest);
      if (!found.ok()) return std::move(found).status();
      members.push_back(found->get());
    }
    for (const auto& input : config.input()) inputs_.push_back(input.name());
    for (const auto& output : config.output()) outputs_.push_back(output.name());
    config_ = config.SerializeAsString();
    SchedulerContext context;
    context.model_name = "e";
    context.model_version = 1;
    context.config = config_;
    context.max_batch_size = static_cast<uint32_t>(config.max_batch_size());
    context.reporter = &reporter;
    context.clock = &host.clock();
    context.executors = &host.executors();
    context.members = members;
    settings.pool = &pool;
    settings.memory = &memory;
    provider = std::make_unique<EnsembleProvider>(settings);
    auto made = provider->create(context);
    if (!made.ok()) return std::move(made).status();
    scheduler = std::move(made).value();
    return {};
  }

  test::TestRequest& add() {
    requests.push_back(std::make_unique<test::TestRequest>("r" + std::to_string(requests.size())));
    return *requests.back();
  }
  /// As the catalog does it: all outputs if none is asked for, and positions instead of names.
  Status give(test::TestRequest& request) {
    if (request->outputs.empty()) {
      for (const std::string& output : outputs_) request.add_output(output);
    }
    for (InputTensor& input : request->inputs) input.spec_index = position(inputs_, input.name);
    for (RequestedOutput& output : request->outputs) output.spec_index = position(outputs_, output.name);
    return request.enqueue(*scheduler);
  }
  /// With one input of these values.
  test::TestRequest& enqueue(const std::string& input, const std::vector<int64_t>& values) {
    test::TestRequest& request = add();
    request.add_input<int64_t>(input, DataType::kInt64, {static_cast<int64_t>(values.size())}, values);
    Status status = give(request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  static std::vector<int64_t> values_of(const test::ReceivedResponse& response, std::string_view output) {
    const test::ReceivedOutput* found = response.find(output);
    return found == nullptr ? std::vector<int64_t>{} : test::values_of<int64_t>(found->bytes);
  }

  test::FakeHost host;
  test::FakeModelCatalog catalog;
  test::RecordingReporter reporter;
  BlockPool pool{1 << 20};
  schedulers::StateMemory memory{host, 0};  ///< the heap, until a test opens it
  EnsembleSettings settings;
  std::vector<test::FakeServedModel*> served;
  std::vector<std::unique_ptr<test::TestRequest>> requests;
  std::unique_ptr<EnsembleProvider> provider;
  std::unique_ptr<Scheduler> scheduler;

 private:
  static int32_t position(const std::vector<std::string>& names, std::string_view name) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int32_t>(i);
    }
    ADD_FAILURE() << "no tensor " << name;
    return -1;
  }

  std::string config_;
  std::vector<std::string> inputs_, outputs_;
};

/// The values of an INT64 input, which may be in several buffers.
inline std::vector<int64_t> input_values(const Request& request, std::string_view name) {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return {};
  std::string bytes;
  for (const Buffer& buffer : input->buffers) {
    bytes.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
  }
  return test::values_of<int64_t>(bytes);
}

/// One response with one INT64 output.
inline void send_values(Request& request, std::string_view output, const std::vector<int64_t>& values,
                        uint32_t flags = kFinal, const std::vector<int64_t>& shape = {}) {
  Response* response = request.sink->new_response();
  const std::vector<int64_t> plain = {static_cast<int64_t>(values.size())};
  OutputTensor& made = response->add_output(output, DataType::kInt64, shape.empty() ? plain : shape);
  if (Status status = response->allocate(made, values.size() * sizeof(int64_t)); !status.ok()) {
    return response->send_error(std::move(status), flags);
  }
  if (!values.empty()) std::memcpy(made.buffer.data, values.data(), values.size() * sizeof(int64_t));
  response->send(flags);
}

/// Answers with its input, each value added to.
inline void add_number(Request& request, int64_t number) {
  std::vector<int64_t> values = input_values(request, "IN");
  for (int64_t& value : values) value += number;
  send_values(request, "OUT", values);
  (void)request.release().ok();
}

}  // namespace atl::ensemble
