#include "launchers/kubernetes/cluster_access.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"
#include "launchers/kubernetes/keeper_name.h"

namespace atl::launchers {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string config(const std::string& cluster, const std::string& user) {
  return cat(
      R"({"current-context":"here","contexts":[{"name":"other"},{"name":"here","context":{"cluster":"c","user":"u","namespace":"ns"}}],
    "clusters":[{"name":"c","cluster":{)",
      cluster, R"(}}],"users":[{"name":"u","user":{)", user, "}}]}");
}
const std::string kServer = R"("server":"https://10.0.0.1:6443/")";

TEST(Kubeconfig, HasTheServerOfTheCurrentContext) {
  const Result<ClusterAccess> access = read_kubeconfig(
      config(kServer + R"(,"certificate-authority-data":"Q0E=")",
             R"("client-certificate-data":"Y2VydA==","client-key-data":"a2V5","token":" t1 ")"),
      "/");
  ASSERT_TRUE(access.ok()) << access.status().text();
  EXPECT_EQ(access.value().server, "https://10.0.0.1:6443");
  EXPECT_EQ(access.value().name_space, "ns");
  EXPECT_EQ(access.value().ca_text, "CA");
  EXPECT_EQ(access.value().credential.cert_text, "cert");
  EXPECT_EQ(access.value().credential.key_text, "key");
  EXPECT_EQ(access.value().credential.token, "t1");
}

TEST(Kubeconfig, PathsBeginAtItsFolder) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path();
  write(path + "/ca.pem", "authority");
  const Result<ClusterAccess> access = read_kubeconfig(
      config(kServer + R"(,"certificate-authority":"ca.pem")", R"("tokenFile":"token")"), path);
  ASSERT_TRUE(access.ok()) << access.status().text();
  EXPECT_EQ(access.value().ca_text, "authority");
  EXPECT_EQ(access.value().token_file, path + "/token");
}

TEST(Kubeconfig, AProgramMayBeToldOfTheCluster) {
  Result<ClusterAccess> access = read_kubeconfig(
      config(
          kServer +
              R"(,"certificate-authority-data":"Q0E=","extensions":[{"name":"client.authentication.k8s.io/exec","extension":{"a":1}}])",
          R"("exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"bin/login","provideClusterInfo":true})"),
      "/home/me");
  ASSERT_TRUE(access.ok()) << access.status().text();
  EXPECT_EQ(access->exec.words, std::vector<std::string>{"/home/me/bin/login"});
  EXPECT_EQ(
      access->exec.environment.at(0),
      R"(KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":)"
      R"({"certificate-authority-data":"Q0E=","config":{"a":1},"server":"https://10.0.0.1:6443"},"interactive":false}})");
}

TEST(Kubeconfig, SaysWhatIsNotSupportedOrMissing) {
  const auto refused = [](const std::string& text) {
    const Result<ClusterAccess> access = read_kubeconfig(text, "/");
    return access.ok() ? std::string("nothing") : access.status().text();
  };
  EXPECT_NE(refused("apiVersion: v1").find("kubectl config view --raw -o json"), std::string::npos);
  EXPECT_EQ(refused("{}"), "it has no context '', which is its current one");
  EXPECT_NE(
      refused(config(kServer, R"("exec":{"command":"aws"})")).find("user 'u': 'exec' has the apiVersion ''"),
      std::string::npos);
  EXPECT_EQ(refused(config(kServer, R"("token":"t","exec":{"command":"aws"})")),
            "user 'u': 'exec' and credentials beside it exclude each other");
  EXPECT_EQ(refused(config(kServer + R"(,"proxy-url":"http://p")", "")),
            "cluster 'c': 'proxy-url' is not supported");
  EXPECT_NE(
      refused(config(kServer + R"(,"insecure-skip-tls-verify":true)", "")).find("insecure-skip-tls-verify"),
      std::string::npos);
  EXPECT_EQ(refused(config(kServer + R"(,"certificate-authority-data":"***")", "")),
            "cluster 'c': 'certificate-authority-data' is no base64");
  EXPECT_NE(refused(config(R"("server":"ftp://x")", "")).find("no address of a cluster"), std::string::npos);
  EXPECT_EQ(refused(config(kServer, R"("client-key-data":"a2V5")")),
            "user 'u': 'client-certificate' and 'client-key' belong together");
  EXPECT_EQ(refused(config(kServer, R"("token":"a\r\nb")")),
            "user 'u': the token has characters that no token has");
}

TEST(InCluster, IsWhatAPodIsGiven) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path();
  std::map<std::string, const char*> variables = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto variable = [&](const char* name) {
    return variables.contains(name) ? variables[name] : nullptr;
  };
  EXPECT_FALSE(in_cluster_access(variable, path).ok()) << "no service account";
  write(path + "/ca.crt", "authority");
  write(path + "/namespace", "serving\n");
  const Result<ClusterAccess> access = in_cluster_access(variable, path);
  ASSERT_TRUE(access.ok()) << access.status().text();
  EXPECT_EQ(access.value().server, "https://[fd00::1]:443");
  EXPECT_EQ(access.value().name_space, "serving");
  EXPECT_EQ(access.value().ca_text, "authority");
  EXPECT_EQ(access.value().token_file, path + "/token");
  variables["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  EXPECT_EQ(in_cluster_access(variable, path).value().server, "https://10.0.0.1:443");
  variables.clear();
  EXPECT_EQ(in_cluster_access(variable, path).status().message(),
            "this process is in no pod (KUBERNETES_SERVICE_HOST is not set): set 'server' or 'kubeconfig'");
}

TEST(KeeperName, IsMadeOnceAndKept) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "state";
  const Result<std::string> first = keeper_name(path);
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(first.value().size(), 32u);
  EXPECT_EQ(keeper_name(path).value(), first.value());
  write(path + "/keeper", "other keeper");
  EXPECT_EQ(keeper_name(path).status().code(), Code::kInvalidArgument);
  write(folder.path() / "file", "");
  EXPECT_EQ(keeper_name(folder.path() / "file").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::launchers
