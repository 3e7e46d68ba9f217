#include "launchers/kubernetes/pod_spec.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"
#include "launchers/kubernetes/pod_names.h"

namespace atl::launchers {
namespace {

ServerSpec server() {
  ServerSpec server;
  server.id = "a35caf08-42b3";
  server.pool = "Fraud Detection";
  server.repository = "/state/repositories/x";
  server.cpus = 2;
  server.gpus = 1;
  server.memory_bytes = uint64_t{4} << 30;
  return server;
}

PodSettings settings() {
  PodSettings settings;
  settings.keeper = "0123";
  settings.image = "atoll:1";
  settings.images = {{"triton", "triton:2"}};
  settings.claims = {{"/models", "models"},
                     {"/state/repositories", "state", "pools/repositories"},
                     {"/more", "models", "more"}};
  settings.stop_timeout_ns = 45 * kNsPerSecond;
  settings.start_timeout_ns = 60 * kNsPerSecond;
  settings.dev_shm_bytes = 1024;
  return settings;
}

TEST(PodNames, AreLegalAndTellServersApart) {
  EXPECT_EQ(server_hash("abc"), "ba7816bf8f01cfea");  // SHA-256's own example
  EXPECT_EQ(pod_name("fraud", "abc"), "atoll-fraud-ba7816bf8f01cfea");
  EXPECT_EQ(pod_name("Fraud_\xc3\xa4", "abc"), "atoll-fraud----ba7816bf8f01cfea");
  EXPECT_EQ(pod_name(std::string(255, 'p'), std::string(128, 'A')).size(), 63u);
  EXPECT_NE(pod_name("p", "a"), pod_name("p", "A"));
  EXPECT_EQ(label_value("-Fraud detection_"), "Fraud_detection");
  EXPECT_EQ(label_value("\xc3\xa4"), "");
  EXPECT_EQ(label_value(std::string(255, 'p')).size(), 63u);
}

TEST(PodObject, IsClosedAndAsksForItsParts) {
  const Json pod = pod_object(server(), {"server", "--x"}, settings());
  EXPECT_EQ(text_at(pod, {"metadata", "name"}), pod_name("Fraud Detection", server().id));
  EXPECT_EQ(text_at(pod, {"metadata", "annotations", "atoll.dev/server-id"}), server().id);
  EXPECT_EQ(text_at(pod, {"metadata", "labels", "atoll.dev/keeper"}), "0123");
  EXPECT_EQ(text_at(pod, {"metadata", "labels", "app.kubernetes.io/managed-by"}), "atoll");
  const Json& spec = pod["spec"];
  EXPECT_EQ(text_at(spec, {"restartPolicy"}), "Never");
  EXPECT_EQ(field_at(spec, {"automountServiceAccountToken"}), false);
  EXPECT_EQ(number_at(spec, {"terminationGracePeriodSeconds"}), 45);
  EXPECT_EQ(field_at(spec, {"securityContext", "runAsNonRoot"}), true);
  const Json& container = spec["containers"][0];
  EXPECT_EQ(container["command"], (Json{"server", "--x"}));
  EXPECT_EQ(container["resources"]["requests"], (Json{{"cpu", "2"}, {"memory", "4294967296"}}));
  EXPECT_EQ(container["resources"]["limits"],
            (Json{{"cpu", "2"}, {"memory", "4294967296"}, {"nvidia.com/gpu", "1"}}));
  EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], Json{"ALL"});
  EXPECT_EQ(number_at(container, {"startupProbe", "failureThreshold"}), 31);
  EXPECT_EQ(container["ports"].size(), 2u);
  ASSERT_EQ(spec["volumes"].size(), 4u) << "a claim is mounted twice and is one volume";
  EXPECT_EQ(container["volumeMounts"][3], (Json{{"name", "claim-1"},
                                                {"mountPath", "/state/repositories"},
                                                {"subPath", "pools/repositories"},
                                                {"readOnly", true}}));
  EXPECT_FALSE(pod["metadata"].contains("finalizers"));
}

TEST(PodObject, RuntimesHaveTheirOwnImagesAndSharedPartsAreNotAskedFor) {
  ServerSpec spec = server();
  EXPECT_EQ(text_at(pod_object(spec, {}, settings())["spec"]["containers"][0], {"image"}), "atoll:1");
  spec.runtime = "triton";
  spec.cpus = spec.gpus = 0;
  spec.memory_bytes = 0;
  PodSettings plain = settings();
  plain.dev_shm_bytes = 0;
  plain.grpc_port = 0;
  const Json container = pod_object(spec, {}, plain)["spec"]["containers"][0];
  EXPECT_EQ(text_at(container, {"image"}), "triton:2");
  EXPECT_TRUE(container["resources"]["limits"].empty());
  EXPECT_EQ(container["ports"].size(), 1u);
}

TEST(PodObject, ATemplateIsMergedInButNotInWhatItIsFoundBy) {
  PodSettings with = settings();
  with.pod_template = parse_json(R"({
    "metadata": {"name": "mine", "finalizers": ["x"], "labels": {"team": "a", "atoll.dev/keeper": "other"}},
    "spec": {"nodeSelector": {"gpu": "yes"}, "restartPolicy": "Always", "tolerations": [{"key": "gpu"}], "enableServiceLinks": null,
             "containers": [{"name": "server", "imagePullPolicy": "Always", "env": [{"name": "A", "value": "1"}],
                             "volumeMounts": [{"mountPath": "/tmp", "name": "scratch"}]},
                            {"name": "beside", "image": "b"}],
             "volumes": [{"name": "scratch", "emptyDir": {}}]}})");
  const Json pod = pod_object(server(), {"s"}, with);
  EXPECT_EQ(text_at(pod, {"metadata", "name"}), pod_name("Fraud Detection", server().id));
  EXPECT_FALSE(pod["metadata"].contains("finalizers"));
  EXPECT_EQ(text_at(pod, {"metadata", "labels", "team"}), "a");
  EXPECT_EQ(text_at(pod, {"metadata", "labels", "atoll.dev/keeper"}), "0123");
  const Json& spec = pod["spec"];
  EXPECT_EQ(text_at(spec, {"restartPolicy"}), "Never");
  EXPECT_EQ(text_at(spec, {"nodeSelector", "gpu"}), "yes");
  EXPECT_EQ(spec["tolerations"].size(), 1u);
  EXPECT_FALSE(spec.contains("enableServiceLinks"));
  EXPECT_EQ(spec["volumes"].size(), 5u);
  ASSERT_EQ(spec["containers"].size(), 2u);
  const Json& container = spec["containers"][0];
  EXPECT_EQ(text_at(container, {"imagePullPolicy"}), "Always");
  EXPECT_EQ(container["command"], Json{"s"});
  EXPECT_EQ(container["env"].size(), 2u);
  EXPECT_EQ(text_at(container["volumeMounts"][0], {"name"}), "scratch");
}

TEST(PodTemplate, IsAPodInJson) {
  EXPECT_TRUE(read_pod_template(R"({"kind": "Pod", "spec": {}})", "f").ok());
  for (const char* text :
       {"", "[]", "{", R"({"spec": 1})", R"({"metadata": {"labels": []}})", R"({"containers": []})"})
    EXPECT_EQ(read_pod_template(text, "f").status().code(), Code::kInvalidArgument) << text;
}

TEST(SecretObject, HasTheVariablesAndGoesWithItsPod) {
  const Json secret = secret_object(server(), {"A=1", "B=[\"x=y\"]"}, "uid-7", settings());
  EXPECT_EQ(secret["stringData"], (Json{{"A", "1"}, {"B", "[\"x=y\"]"}}));
  EXPECT_EQ(text_at(secret, {"metadata", "name"}), pod_name("Fraud Detection", server().id));
  EXPECT_EQ(text_at(secret["metadata"]["ownerReferences"][0], {"uid"}), "uid-7");
}

TEST(Words, OfClientsAreNoReferences) {
  EXPECT_EQ(without_references("$(ATOLL_KEY) $$ a"), "$$(ATOLL_KEY) $$$$ a");
}

TEST(Claims, AreNamesWithFolders) {
  const Result<ClaimMount> whole = read_claim("/m", "models"), part = read_claim("/m", "models/a/b");
  ASSERT_TRUE(whole.ok() && part.ok());
  EXPECT_EQ(whole.value().claim, "models");
  EXPECT_EQ(whole.value().folder, "");
  EXPECT_EQ(part.value().claim, "models");
  EXPECT_EQ(part.value().folder, "a/b");
  for (const auto& [path, text] :
       {std::pair{"m", "models"}, {"/m", ""}, {"/m", "/models"}, {"/m", "models/../x"}, {"/m", "models//x"}})
    EXPECT_FALSE(read_claim(path, text).ok()) << text;
}

}  // namespace
}  // namespace atl::launchers
