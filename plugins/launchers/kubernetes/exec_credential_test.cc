#include "launchers/kubernetes/exec_credential.h"

#include <gtest/gtest.h>

#include <fstream>

#include "atoll/core/clock.h"
#include "atoll/testing/temporary_directory.h"
#include "launchers/kubernetes/cluster_access.h"

namespace atl::launchers {
namespace {

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

Result<ExecCommand> command_of(const char* exec, const Json& cluster = Json::object()) {
  return read_exec_command(parse_json(exec), cluster, "/home/me/.kube");
}

std::string printed(const std::string& status, const char* version = kV1) {
  return cat(R"({"kind":"ExecCredential","apiVersion":")", version, R"(","status":)", status, "}");
}

/// Runs a shell's command line, which prints a credential or does not.
Result<ExecCredential> run_shell(const std::string& line, int64_t timeout_ns = 60 * kNsPerSecond,
                                 const char* hint = "") {
  const std::atomic<bool> given_up = false;
  return run_exec_command({{"sh", "-c", line}, {"REGION=north"}, kV1, hint}, timeout_ns, given_up);
}

TEST(ExecCommand, IsReadFromAKubeconfig) {
  Result<ExecCommand> command = command_of(
      R"({"apiVersion":"client.authentication.k8s.io/v1","command":"aws","args":["eks","get-token"],
          "env":[{"name":"AWS_PROFILE","value":"serving"}],"interactiveMode":"IfAvailable","installHint":"Install aws."})",
      {{"server", "https://a"}});
  ASSERT_TRUE(command.ok()) << command.status().text();
  EXPECT_EQ(command->words, (std::vector<std::string>{"aws", "eks", "get-token"}));
  EXPECT_EQ(command->environment.at(0), "AWS_PROFILE=serving");
  EXPECT_EQ(
      command->environment.at(1),
      R"(KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}})");
  EXPECT_EQ(command->install_hint, "Install aws.");
}

TEST(ExecCommand, WithASlashItBeginsAtTheKubeconfigsFolder) {
  const auto program = [](const std::string& name) {
    return command_of(cat(R"({"apiVersion":"client.authentication.k8s.io/v1beta1","command":")", name,
                          R"(","args":null,"env":null})")
                          .c_str())
        ->words.front();
  };
  EXPECT_EQ(program("login"), "login");
  EXPECT_EQ(program("./login"), "/home/me/.kube/./login");
  EXPECT_EQ(program("/usr/bin/login"), "/usr/bin/login");
}

TEST(ExecCommand, IsToldOfTheClusterIfItAsks) {
  Result<ExecCommand> command = command_of(
      R"({"apiVersion":"client.authentication.k8s.io/v1","command":"c","provideClusterInfo":true})",
      {{"server", "https://a"}});
  ASSERT_TRUE(command.ok());
  EXPECT_NE(command->environment.at(0).find(R"("cluster":{"server":"https://a"})"), std::string::npos);
}

TEST(ExecCommand, SaysWhatIsNotSupported) {
  const auto said = [](const char* exec) { return command_of(exec).status().text(); };
  EXPECT_EQ(
      said(R"({"apiVersion":"client.authentication.k8s.io/v1alpha1","command":"c"})"),
      "'exec' has the apiVersion 'client.authentication.k8s.io/v1alpha1', expected client.authentication.k8s.io/v1 or "
      "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(said(R"({"apiVersion":"client.authentication.k8s.io/v1"})"), "'exec' has no command");
  EXPECT_NE(
      said(R"({"apiVersion":"client.authentication.k8s.io/v1","command":"c","interactiveMode":"Always"})")
          .find("needs a terminal"),
      std::string::npos);
  EXPECT_EQ(said(R"({"apiVersion":"client.authentication.k8s.io/v1","command":"c","args":[1]})"),
            "'args' of 'exec' is no list of texts");
  EXPECT_NE(said(R"({"apiVersion":"client.authentication.k8s.io/v1","command":"c","env":[{"name":"A"}]})")
                .find("'env'"),
            std::string::npos);
}

TEST(ExecCredential, IsATokenOrACertificate) {
  Result<ExecCredential> token =
      read_exec_credential(printed(R"({"token":"t1\n","expirationTimestamp":"2001-09-09T01:46:40Z"})"), kV1);
  ASSERT_TRUE(token.ok()) << token.status().text();
  EXPECT_EQ(token->credential.token, "t1");
  EXPECT_EQ(token->expires_wall_ns, 1'000'000'000 * kNsPerSecond);
  Result<ExecCredential> certificate =
      read_exec_credential(printed(R"({"clientCertificateData":"c","clientKeyData":"k"})"), kV1);
  ASSERT_TRUE(certificate.ok()) << certificate.status().text();
  EXPECT_EQ(certificate->credential.cert_text, "c");
  EXPECT_EQ(certificate->credential.key_text, "k");
  EXPECT_EQ(certificate->expires_wall_ns, 0);
}

TEST(ExecCredential, IsNeverShownWhereItIsWrong) {
  const auto said = [](const std::string& text) { return read_exec_credential(text, kV1).status().text(); };
  EXPECT_EQ(said("secret"), "what it prints is no ExecCredential in JSON");
  EXPECT_EQ(said("{}"), "what it prints is no ExecCredential in JSON");
  EXPECT_EQ(said(printed(R"({"token":"secret"})", "v2")),
            "it answers in apiVersion 'v2', expected client.authentication.k8s.io/v1");
  EXPECT_EQ(said(printed("{}")), "it gives neither a token nor a certificate");
  EXPECT_EQ(said(printed(R"({"token":"","clientKeyData":"secret"})")),
            "it gives one of 'clientCertificateData' and 'clientKeyData', which belong together");
  EXPECT_EQ(said(printed(R"({"token":"se cret"})")),
            "what it gives: the token has characters that no token has");
  EXPECT_EQ(said(printed(R"({"token":"secret","expirationTimestamp":"soon"})")),
            "'expirationTimestamp': 'soon' is no time as RFC 3339 writes it");
  EXPECT_EQ(said(printed(R"({"token":"secret","expirationTimestamp":"9999-01-01T00:00:00Z"})")),
            "'expirationTimestamp': '9999-01-01T00:00:00Z' is no time as RFC 3339 writes it");
}

TEST(ExecCredential, IsWhatTheProgramPrints) {
  Result<ExecCredential> got = run_shell(cat("echo '", printed(R"({"token":"'$REGION'"})"), "'"));
  ASSERT_TRUE(got.ok()) << got.status().text();
  EXPECT_EQ(got->credential.token, "north");
}

TEST(ExecCredential, AProgramThatFailsSaysWhy) {
  EXPECT_EQ(run_shell("echo first >&2; echo 'not logged in' >&2; exit 3").status().text(),
            "sh exited with status 3: not logged in");
  EXPECT_EQ(run_shell("echo secret").status().text(), "sh: what it prints is no ExecCredential in JSON");
  EXPECT_EQ(run_shell("exec sleep 1000", 20 * kNsPerMs).status().text(), "sh did not end in 20 ms");
  EXPECT_EQ(run_shell("head -c 3000000 /dev/zero").status().text(), "sh prints more than 1 MiB");
  const std::atomic<bool> given_up = true;
  EXPECT_EQ(run_exec_command({{"sleep", "1000"}, {}, kV1, {}}, 60 * kNsPerSecond, given_up).status().text(),
            "sleep is not waited for any more");
}

TEST(ExecCredential, AProgramThatIsMissingHasAHint) {
  const std::atomic<bool> given_up = false;
  const Status status =
      run_exec_command({{"/no/such/login"}, {}, kV1, "Install it first."}, kNsPerSecond, given_up)
          .status()
          .clone();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find("/no/such/login"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("; Install it first."), std::string::npos) << status.text();
}

}  // namespace
}  // namespace atl::launchers
