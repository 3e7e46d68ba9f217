#include "frontends/console/instances/instance_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/testing/fake_host.h"

namespace atl::frontends::console {
namespace {

using State = PluginStateChanged::State;
using Lines = std::vector<std::string>;

struct Listed {
  Listed() { EXPECT_TRUE(list.open().ok()); }
  ~Listed() { list.close(); }

  void instance(const std::string& name, State state, uint64_t generation, bool is_retained = true) {
    PluginStateChanged event;
    event.instance = name;
    event.plugin = cat("frontends/", name);
    event.state = state;
    event.generation = generation;
    if (state == State::kFailed) event.reason = "why";
    host.events().publish(event, is_retained);
  }
  void service(const std::string& interface_id, const std::string& instance, ServiceChanged::Kind kind) {
    ServiceChanged event;
    event.key_text = cat(interface_id, " ", instance);
    event.interface_id = interface_id;
    event.instance = instance;
    event.kind = kind;
    host.events().publish(event);
  }
  void reload(ReloadChanged::State state, uint64_t generation) {
    ReloadChanged event;
    event.state = state;
    event.generation = generation;
    host.events().publish(event, false);
  }
  Lines lines() {
    host.run_ready();
    Lines all;
    for (const ListedInstance& one : list.view().instances)
      all.push_back(cat(one.name, " ", one.generation, " ", lifecycle_state_name(one.state)));
    return all;
  }

  test::FakeHost host{"console"};
  InstanceList list{host};
};

TEST(InstanceList, AReplacedInstanceIsThereTwiceMeanwhile) {
  Listed listed;
  listed.instance("http", State::kActive, 1);
  listed.instance("http", State::kCreated, 2, false);
  EXPECT_EQ(listed.lines(), Lines({"http 1 ACTIVE", "http 2 CREATED"}));
  listed.instance("http", State::kActive, 2);
  listed.instance("http", State::kDraining, 1, false);
  EXPECT_EQ(listed.lines(), Lines({"http 1 DRAINING", "http 2 ACTIVE"}));
  listed.instance("http", State::kStopped, 1, false);
  listed.instance("http", State::kDestroyed, 1, false);
  listed.instance("http", State::kUnloaded, 1, false);
  EXPECT_EQ(listed.lines(), Lines({"http 2 ACTIVE"}));
}

TEST(InstanceList, WhatARefusedManifestHadIsGone) {
  Listed listed;
  listed.instance("http", State::kActive, 1);
  listed.reload(ReloadChanged::State::kBegun, 1);
  listed.instance("http", State::kFailed, 2, false);
  EXPECT_EQ(listed.lines(), Lines({"http 1 ACTIVE", "http 2 FAILED"}));
  listed.reload(ReloadChanged::State::kRefused, 1);
  EXPECT_EQ(listed.lines(), Lines({"http 1 ACTIVE"}));
  listed.instance("grpc", State::kFailed, 1);
  listed.reload(ReloadChanged::State::kApplied, 2);
  EXPECT_EQ(listed.lines(), Lines({"http 1 ACTIVE"}));
}

TEST(InstanceList, ServicesAreThoseOfTheOneThatServes) {
  Listed listed;
  ServerStateChanged server;
  server.state = ServerStateChanged::State::kActive;
  server.generation = 2;
  listed.host.events().publish(server);
  listed.instance("http", State::kActive, 1);
  listed.instance("http", State::kFailed, 2, false);
  listed.service("b/1", "http", ServiceChanged::Kind::kPublished);
  listed.service("a/1", "http", ServiceChanged::Kind::kPublished);
  listed.service("a/1", "http", ServiceChanged::Kind::kReplaced);
  listed.service("c/1", "http", ServiceChanged::Kind::kPublished);
  listed.service("c/1", "http", ServiceChanged::Kind::kWithdrawn);
  listed.host.run_ready();
  EXPECT_EQ(
      instances_json(listed.list.view(), {"run", 1}),
      R"({"run":"run","generation":2,"draining":false,"instances":[)"
      R"({"name":"http","plugin":"frontends/http","state":"ACTIVE","generation":1,"reason":"","services":["a/1","b/1"]},)"
      R"({"name":"http","plugin":"frontends/http","state":"FAILED","generation":2,"reason":"why","services":[]}]})");
}

}  // namespace
}  // namespace atl::frontends::console
