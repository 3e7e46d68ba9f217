/// The plugin's routes over scripted models.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_http_exchange.h"
#include "atoll/testing/fake_model_control.h"
#include "frontends/openai/openai_routes.h"
#include "frontends/openai/testing/text_models.h"

namespace atl::frontends::openai {

/// Models: "canned" streams "Hel", "lo wor" and "ld" with 1, 2 and 1 tokens; "plain" answers with its prompt; "org/e" makes
/// embeddings of 3, 4 and 0 for every text; "tools", "ranks" and
/// "labels" answer as the test says.
class ScriptedRoutes {
 public:
  explicit ScriptedRoutes(int64_t ping_interval_ns = 0) {
    canned = &catalog.add(language_model("canned", /*decoupled=*/true));
    canned->respond = [](Request& request) {
      send_piece(request, "Hel", 1, 0);
      send_piece(request, "lo wor", 2, 0);
      send_piece(request, "ld", 1, 0);
      request.sink->send(nullptr, kFinal);
      (void)request.release().ok();
    };
    plain = &catalog.add(plain_model("plain"));
    plain->respond = [](Request& request) {
      send_piece(request, text_in(request, "text_input"), 0, kFinal);
      (void)request.release().ok();
    };
    embeds = &catalog.add(embedding_model("org/e"));
    embeds->respond = [](Request& request) {
      send_embedding(request, {3, 4, 0});
      (void)request.release().ok();
    };
    tools = &catalog.add(chat_model("tools"));
    tools->respond = [this](Request& request) {
      asked = cat(text_in(request, "text_input"), "|", text_in(request, "messages"), "|",
                  text_in(request, "chat_options"), "|", text_in(request, "sampling_parameters"));
      for (const std::string& piece : pieces) send_piece(request, piece, 1, 0);
      request.sink->send(nullptr, kFinal);
      (void)request.release().ok();
    };
    ranks = &catalog.add(rerank_model("ranks"));
    labels = &catalog.add(classify_model("labels"));
    catalog.add_identity("numbers");
    host.registry().publish<ModelCatalog>("models", catalog);
    host.registry().publish<ModelControl>("control", control);
    OpenAiSettings settings{{{"gpt-4o", "canned"}, {"lost", "gone"}},
                            TenantHeader::parse("x-tenant").value(),
                            ToolSyntax::kHermes,
                            /*vllm_metrics=*/true,
                            ping_interval_ns};
    routes = std::make_unique<OpenAiRoutes>(host, std::move(settings));
    EXPECT_TRUE(routes->start().ok());
  }
  ~ScriptedRoutes() {
    // A call's thread may still be on its way out; the server waits for it likewise.
    host.gate().close();
    while (host.gate().count() != 0) std::this_thread::yield();
    routes->stop();
    for (const FakeServedModel* model : {canned, plain, embeds, tools, ranks, labels})
      EXPECT_EQ(model->references(), 0);
  }

  using FakeServedModel = test::FakeServedModel;
  test::FakeHost host{"openai", test::FakeHost::Threads::kReal};
  test::FakeModelCatalog catalog;
  test::FakeModelControl control;
  FakeServedModel *canned, *plain, *embeds, *tools, *ranks, *labels;
  std::vector<std::string> pieces;  ///< of the next answers of "tools"
  std::string asked;                ///< of "tools" the last time: its inputs
  std::unique_ptr<OpenAiRoutes> routes;
};

}  // namespace atl::frontends::openai
