#include <gtest/gtest.h>

#include <fstream>

#include "atoll/testing/fake_options.h"
#include "atoll/testing/option_table.h"
#include "atoll/testing/temporary_directory.h"
#include "launchers/kubernetes/option_table.h"
#include "launchers/kubernetes/pod_server.h"
#include "launchers/kubernetes/settings.h"

namespace atl::launchers {
namespace {

/// As the server checks and gives them.
Result<KubernetesSettings> read(test::OptionTexts texts) {
  texts.try_emplace("state_directory", "/var/lib/servers");
  texts.try_emplace("image", "atoll:1");
  if (!texts.contains("kubeconfig")) texts.try_emplace("server", "http://127.0.0.1:8001/");
  test::FakeOptions options;
  const Status status = test::apply_option_table({kKubernetesOptions.begin(), kKubernetesOptions.size()},
                                                 texts, options, "launcher");
  if (!status.ok()) return status.clone();
  return KubernetesSettings::read(options);
}

std::string refused(test::OptionTexts texts) { return read(std::move(texts)).status().text(); }

TEST(KubernetesSettings, HaveARuntimeThatListensOnThePodsAddress) {
  const Result<KubernetesSettings> settings = read({});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings.value().access.server, "http://127.0.0.1:8001");
  EXPECT_EQ(settings.value().access.name_space, "default");
  ServerSpec server;
  server.repository = "/r";
  const Result<std::vector<std::string>> words = command_words(server, settings.value());
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words.value()[1], "--model-repository=/r");
  EXPECT_EQ(words.value()[3], "--http-address=$(ATOLL_POD_IP)");
  EXPECT_EQ(words.value()[6], "--grpc-port=8001");
}

TEST(KubernetesSettings, AreWhatTheManifestSays) {
  const test::TemporaryDirectory folder;
  const std::string pod = folder.path() / "pod.json";
  std::ofstream(pod) << R"({"spec": {"priorityClassName": "high"}})";
  const Result<KubernetesSettings> settings = read({{"namespace", "serving"},
                                                    {"images", R"({triton = "triton:2"})"},
                                                    {"runtimes", R"({triton = "t --key={key}"})"},
                                                    {"claims", R"({"/m" = "models/a"})"},
                                                    {"pod_template", pod},
                                                    {"http_port", "80"}});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings.value().access.name_space, "serving");
  EXPECT_EQ(settings.value().pods.claims.at(0).folder, "a");
  EXPECT_EQ(text_at(settings.value().pods.pod_template, {"spec", "priorityClassName"}), "high");
  ServerSpec server;
  server.runtime = "triton";
  server.key = "k";
  EXPECT_EQ(secret_variables(server, settings.value()).back(), "ATOLL_KEY=k");
}

TEST(KubernetesSettings, SayWhatIsWrong) {
  EXPECT_EQ(refused({{"server", "here"}}),
            "option 'server' is 'here', expected http://HOST:PORT or https://HOST:PORT");
  EXPECT_EQ(refused({{"server", "http://a"}, {"kubeconfig", "b"}}),
            "options 'server' and 'kubeconfig' exclude each other");
  EXPECT_NE(refused({{"kubeconfig", "/none"}}).find("option 'kubeconfig': /none: No such file"),
            std::string::npos);
  EXPECT_NE(refused({{"pod_template", "/none"}}).find("option 'pod_template': /none: No such file"),
            std::string::npos);
  EXPECT_NE(refused({{"claims", R"({"m" = "c"})"}}).find("option 'claims': found the path 'm'"),
            std::string::npos);
  EXPECT_NE(refused({{"images", R"({triton = "t"})"}}).find("option 'images': 'triton'"), std::string::npos);
  EXPECT_NE(refused({{"runtimes", R"({x = "{port}"})"}}).find("option 'runtimes': 'x'"), std::string::npos);
  EXPECT_EQ(refused({{"image", ""}}), "option 'image' is empty");
}

}  // namespace
}  // namespace atl::launchers
