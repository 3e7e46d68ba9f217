#include "backends/llamacpp/llama_backend.h"

#include <fstream>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "backends/llamacpp/engine/llama_engine.h"
#include "backends/llamacpp/library/llama_library.h"
#include "backends/llamacpp/testing/backend_fixture.h"

namespace atl::llamacpp::test {
namespace {

using atl::test::FakeHost;
using atl::test::TestRequest;

class LlamaBackendTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path(); }
  std::string reason_of(const std::filesystem::path& model, const std::string& config) {
    auto loaded = backend_->load(completed(*backend_, source_of(model, config)));
    return loaded.ok() ? "" : std::string(loaded.status().message());
  }

  atl::test::TemporaryDirectory folder_;
  FakeHost host_{"llamacpp", FakeHost::Threads::kReal};
  std::shared_ptr<LlamaBackend> backend_ = make_backend(host_);
};

TEST_F(LlamaBackendTest, TheConfigurationIsCompletedFromTheFile) {
  const ModelSource source = completed(*backend_, source_of(add_tiny(path(), "m"), ""));
  EXPECT_TRUE(source.model.decoupled);
  EXPECT_EQ(source.model.inputs.size(), 11u);
  EXPECT_TRUE(source.model.inputs[0].optional);
  EXPECT_NE(source.model.find_input("messages"), nullptr);
  EXPECT_EQ(source.model.outputs.size(), 8u);
  EXPECT_EQ(source.model.parameters.at("gguf_context_length"), "256");
  EXPECT_EQ(source.model.parameters.at("gguf_embedding_size"), "32");
  EXPECT_EQ(source.model.parameters.at("gguf_chat_template"), "true");
}

TEST_F(LlamaBackendTest, WithoutATemplateThereAreNoMessages) {
  std::filesystem::create_directories(path() / "m" / "1");
  write_tiny_gguf(path() / "m" / "1" / "any.gguf");
  const ModelSource source = completed(*backend_, source_of(path() / "m", ""));
  EXPECT_EQ(source.model.find_input("messages"), nullptr);
  EXPECT_EQ(source.model.find_input("chat_options"), nullptr);
  EXPECT_NE(source.model.find_input("text_input"), nullptr);
  EXPECT_EQ(source.model.parameters.at("gguf_chat_template"), "false");
}

TEST_F(LlamaBackendTest, WhatIsWrittenStays) {
  const ModelSource source =
      completed(*backend_, source_of(add_tiny(path(), "m"),
                                     "input { name: 'text_input' data_type: TYPE_STRING dims: 1 } "
                                     "output { name: 'text_output' data_type: TYPE_STRING dims: 1 }"));
  EXPECT_EQ(source.model.inputs.size(), 1u);
  EXPECT_FALSE(source.model.inputs[0].optional);
  EXPECT_EQ(source.model.outputs.size(), 1u);
}

TEST_F(LlamaBackendTest, FilesAreFound) {
  const std::string folder = (path() / "m" / "1").string();
  std::filesystem::create_directories(folder);
  EXPECT_EQ(find_gguf(folder, "").status().code(), Code::kNotFound);
  const auto touch = [&](const char* name) { std::ofstream(folder + "/" + name) << "x"; };
  touch("b-00002-of-00002.gguf");
  EXPECT_EQ(find_gguf(folder, "").value(), folder + "/b-00002-of-00002.gguf");
  touch("b-00001-of-00002.gguf");
  EXPECT_EQ(find_gguf(folder, "").value(), folder + "/b-00001-of-00002.gguf");
  touch("model.gguf");
  EXPECT_EQ(find_gguf(folder, "").value(), folder + "/model.gguf");
  EXPECT_EQ(find_gguf(folder, "b-00002-of-00002.gguf").value(), folder + "/b-00002-of-00002.gguf");
  EXPECT_EQ(find_gguf(folder, "../x.gguf").status().code(), Code::kInvalidArgument);
}

TEST_F(LlamaBackendTest, ParametersAreChecked) {
  const std::filesystem::path model = add_tiny(path(), "m");
  const auto parameter = [](const char* key, const char* value) {
    return cat("parameters { key: '", key, "' value { string_value: '", value, "' } }");
  };
  EXPECT_EQ(reason_of(model, parameter("context_length", "300")),
            "model 'm': parameter 'context_length' is '300', expected a whole number from 16 to 256");
  EXPECT_NE(reason_of(model, parameter("max_sequences", "257")).find("from 1 to 256"), std::string::npos);
  EXPECT_NE(reason_of(model, parameter("step_tokens", "8")).find("from 32 to 8192"), std::string::npos);
  EXPECT_NE(reason_of(model, parameter("shared_prefixes", "maybe")).find("'shared_prefixes'"),
            std::string::npos);
  EXPECT_EQ(reason_of(model, parameter("inter_token_latency_target_microseconds", "0")), "");
}

TEST_F(LlamaBackendTest, AFileIsTriedOnceAndAnewWhenItChanges) {
  const std::filesystem::path model = add_tiny(path(), "m");
  // Counts its starts, then does what the program does.
  const std::filesystem::path engine = path() / "engine";
  std::filesystem::create_directories(engine);
  const std::string program = (engine / "atoll-llamacpp-probe").string();
  std::ofstream(program) << "#!/bin/sh\necho x >>" << engine.string() << "/starts\nexec "
                         << ATOLL_LLAMACPP_ENGINE << "/atoll-llamacpp-probe \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto starts = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(engine / "starts", none);
    return none ? 0 : size / 2;
  };
  FileTrials trials;
  const TrialSettings settings{program, ATOLL_LLAMACPP_ENGINE, 60 * kNsPerSecond, uint64_t{4} << 30};
  const std::string file = (model / "1" / "model.gguf").string();
  for (int i = 0; i < 3; ++i) {
    Result<GgufFacts> facts = trials.facts_of(settings, {file, {}});
    ASSERT_TRUE(facts.ok()) << facts.status().text();
    EXPECT_EQ(facts->context_tokens, 256);
    EXPECT_EQ(facts->vocabulary_size, 259);
  }
  EXPECT_EQ(starts(), 1u);
  std::filesystem::resize_file(file, 2000);
  Result<GgufFacts> cut = trials.facts_of(settings, {file, {}});
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(starts(), 2u);
  EXPECT_FALSE(trials.facts_of(settings, {file, {}}).ok()) << "a failure is not remembered";
  EXPECT_EQ(starts(), 3u);
}

TEST_F(LlamaBackendTest, HowATrialEndsIsTold) {
  const std::filesystem::path model = add_tiny(path(), "m");
  const std::string file = (model / "1" / "model.gguf").string();
  const auto reason_with = [&](const std::string& script) {
    const std::string program = (path() / "program").string();
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Result<GgufFacts> facts = run_trial({program, "", kNsPerSecond, 0}, {file, {}}, 10);
    return facts.ok() ? std::string() : std::string(facts.status().message());
  };
  EXPECT_EQ(reason_with("kill -ABRT $$"),
            cat("model file '", file, "': its trial was killed by signal 6 (Aborted)"));
  EXPECT_EQ(
      reason_with("echo 'x.cpp:7: GGML_ASSERT(a == b) failed' >&2; echo more >&2; kill -ABRT $$"),
      cat("model file '", file, "': its trial was killed by signal 6 (Aborted): GGML_ASSERT(a == b) failed"));
  EXPECT_EQ(reason_with("echo 'it is wrong' >&2; exit 1"), cat("model file '", file, "': it is wrong"));
  EXPECT_EQ(reason_with("exit 3"), cat("model file '", file, "': its trial exited with status 3"));
  EXPECT_EQ(reason_with("echo '{}'"),
            cat("model file '", file, "': what was found out of the file lacks a part"));
  EXPECT_EQ(reason_with("sleep 100"),
            cat("model file '", file, "': its trial had not ended after 1 s (option probe_timeout)"));
  EXPECT_NE(reason_with("yes | head -c 5000000 >&2; exit 1").size(), 0u) << "what it writes is bounded";
  Result<GgufFacts> none = run_trial({"/nonexistent", "", kNsPerSecond, 0}, {file, {}}, 10);
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
}

TEST_F(LlamaBackendTest, ModelsOfOneFileHaveItsWeightsInCommon) {
  const std::string file = (add_tiny(path(), "m") / "1" / "model.gguf").string();
  const LlamaApi* const api = open_llama({ATOLL_LLAMACPP_ENGINE}).value();
  SharedFiles files;
  auto first = files.get(*api, file, false), second = files.get(*api, file, false);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->get(), second->get());
  EXPECT_NE(files.get(*api, file, true)->get(), first->get()) << "used in another way";
  const std::weak_ptr<LlamaModelFile> there = *first;
  first->reset();
  second->reset();
  EXPECT_TRUE(there.expired()) << "nobody has it any more";
  auto again = files.get(*api, file, false);
  ASSERT_TRUE(again.ok());
  std::filesystem::remove(file);
  EXPECT_EQ(files.get(*api, file, false).status().code(), Code::kNotFound);
  write_tiny_gguf(file);
  EXPECT_NE(files.get(*api, file, false)->get(), again->get()) << "another file of the same name";
}

TEST_F(LlamaBackendTest, AnAdapterIsToldByItsNameOrItsParameter) {
  const auto adapter_file = [&](const std::string& name, const std::string& config = {}) {
    auto files = find_files(source_of(add_tiny(path(), name), config), "");
    return files.ok() ? std::filesystem::path(files->adapter).parent_path().parent_path().filename().string()
                      : cat("error: ", files.status().message());
  };
  const auto base = [](const char* name) {
    return cat("parameters { key: 'base_model' value { string_value: '", name, "' } }");
  };
  EXPECT_EQ(adapter_file("m"), "");
  EXPECT_EQ(adapter_file("m:a"), "m:a");
  EXPECT_EQ(adapter_file("m:a", base("")), "") << "it says that it is none";
  EXPECT_EQ(adapter_file("n:a"), "") << "there is no n";
  EXPECT_EQ(adapter_file("other", base("m")), "other");
  for (const char* wrong : {"n", "..", ".", "../m", "m/1"})
    EXPECT_NE(adapter_file("other", base(wrong)).find(cat("parameter 'base_model' is '", wrong, "'")),
              std::string::npos);
  std::filesystem::create_directories(path() / "m" / "20");
  write_tiny_gguf(path() / "m" / "20" / "model.gguf");
  auto files = find_files(source_of(add_tiny(path(), "m:a"), ""), "");
  ASSERT_TRUE(files.ok()) << files.status().text();
  EXPECT_EQ(files->model, (path() / "m" / "20" / "model.gguf").string());
  EXPECT_EQ(files->subject(), (path() / "m:a" / "1" / "model.gguf").string());
}

TEST_F(LlamaBackendTest, AStepIsNeverLongerThanTheEngineTakes) {
  const std::filesystem::path model = add_tiny(path(), "m");
  const LlamaApi* const api = open_llama({ATOLL_LLAMACPP_ENGINE}).value();
  auto file = LlamaModelFile::load(*api, (model / "1" / "model.gguf").string(), {});
  ASSERT_TRUE(file.ok()) << file.status().text();
  auto engine = LlamaEngine::create(**file, {.sequences = 2, .memory_tokens = 256, .step_tokens = 4096});
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  std::vector<StepToken> step;
  for (int32_t at = 0; at < (*engine)->step_tokens_max(); ++at) step.push_back({5, at, 0, false});
  EXPECT_EQ((*engine)->decode(step), StepEnd::kDone);
  for (StepToken& one : step) one.sequence = 1;
  EXPECT_EQ((*engine)->decode(step), StepEnd::kNoRoom) << "as many again do not fit";
  EXPECT_TRUE((*engine)->forget(0, 0));
  EXPECT_EQ((*engine)->decode(step), StepEnd::kDone);
}

/// Prompts of chats, tokens and texts, by the real engine.
class LlamaFileTest : public LlamaBackendTest {
 protected:
  void SetUp() override {
    const ModelSource source = completed(*backend_, source_of(add_tiny(path(), "m"), ""));
    auto model = backend_->load(source);
    ASSERT_TRUE(model.ok()) << model.status().text();
    model_ = std::move(model).value();
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    ASSERT_TRUE(instance.ok()) << instance.status().text();
    instance_ = std::move(instance).value();
  }
  void TearDown() override {
    instance_.reset();
    model_.reset();
  }
  atl::test::ReceivedResponse ask(TestRequest& request) {
    request.mark_accepted();
    Request* const pointer = &request.request();
    EXPECT_TRUE(instance_->execute({.requests = {&pointer, 1}, .total_batch_size = 1}).ok());
    EXPECT_TRUE(request.wait_done(std::chrono::seconds(60)));
    for (const std::string& problem : request.problems()) ADD_FAILURE() << problem;
    return request.response();
  }

  atl::test::RecordingReporter reporter_;
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

TEST_F(LlamaFileTest, PromptsOfChats) {
  TestRequest request("r");
  request.add_bytes_input("messages", {1},
                          {R"([{"role":"system","content":"s"},{"role":"user","content":"h\u00e9"}])"});
  request.add_output("prompt_text");
  EXPECT_EQ(ask(request).find("prompt_text")->bytes.substr(4), "[system]s[user]h\xC3\xA9[assistant]");
  TestRequest without("r");
  without.add_bytes_input("messages", {1}, {R"([{"role":"user","content":"x"}])"});
  without.add_bytes_input("chat_options", {1}, {R"({"add_generation_prompt":false})"});
  without.add_output("prompt_text");
  EXPECT_EQ(ask(without).find("prompt_text")->bytes.substr(4), "[user]x");
}

TEST_F(LlamaFileTest, TokensOfPrompts) {
  TestRequest request("r");
  request.add_bytes_input("text_input", {1}, {"ab"});
  request.add_output("prompt_token_ids");
  const auto response = ask(request);
  const auto* output = response.find("prompt_token_ids");
  ASSERT_NE(output, nullptr) << response.message;
  // The beginning, the blank that this tokenizer puts in front (3 bytes), and a token for each byte behind 3 special ones.
  const auto size = output->bytes.size() / sizeof(int32_t);
  std::vector<int32_t> tokens(size);
  std::memcpy(tokens.data(), output->bytes.data(), output->bytes.size());
  EXPECT_EQ(tokens.front(), 1);
  EXPECT_EQ(tokens[size - 2], 'a' + 3);
  EXPECT_EQ(tokens.back(), 'b' + 3);
}

TEST_F(LlamaFileTest, AGrammarOfASchemaIsFollowed) {
  TestRequest request("r");
  request.add_bytes_input("text_input", {1}, {"x"});
  request.add_raw_input("exclude_input_in_output", DataType::kBool, {1}, std::string(1, '\1'));
  request.add_bytes_input("sampling_parameters", {1},
                          {R"({"temperature":0,"json_schema":{"enum":["red","green"]}})"});
  request.add_output("text_output");
  const std::string text = ask(request).find("text_output")->bytes.substr(4);
  EXPECT_TRUE(text == "\"red\"" || text == "\"green\"") << text;
}

TEST_F(LlamaFileTest, ACancelledRequestEnds) {
  TestRequest request("r");
  request.add_bytes_input("text_input", {1}, {"x"});
  request.add_bytes_input("sampling_parameters", {1}, {R"({"ignore_eos":true})"});
  request.add_output("text_output");
  request.request().cancellation.cancel();
  EXPECT_EQ(ask(request).code, Code::kCancelled);
}

}  // namespace
}  // namespace atl::llamacpp::test
