/// Conformance of "atoll.backend/1".
#pragma once

#include <thread>

#include "atoll/testing/conformance/backend_bench.h"

namespace atl::test {

TEST_P(BackendConformance, OneRequest) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      EXPECT_TRUE(loaded.instance->ready());
      Requests requests;
      add(requests, one);
      EXPECT_TRUE(is_ok(execute(*loaded.instance, requests)));
      expect_right(one, requests, 0);
      expect_clean(requests);
      EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{1}) << "one executed batch is reported once";
      EXPECT_EQ(reporter_.disordered_times(), 0u);
      reporter_.clear();
    }
  });
}

TEST_P(BackendConformance, ManyRequestsInABatch) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      for (int i = 0; i < 3; ++i) run_case(one, *loaded.instance, 1, 0);
    }
  });
}

TEST_P(BackendConformance, InputsInSeveralBuffers) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      for (size_t pieces : {2, 3, 7}) run_case(one, *loaded.instance, pieces, 0);
    }
  });
}

TEST_P(BackendConformance, MisalignedInputs) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      for (size_t offset : {1, 2, 4, 33}) run_case(one, *loaded.instance, 1, offset);
    }
  });
}

TEST_P(BackendConformance, EachOutputCanBeAskedForAlone) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      const std::vector<std::string> names = asked(one);
      EXPECT_FALSE(names.empty()) << one.name
                                  << ": neither fill() nor source.model says which outputs there are";
      const ReceivedResponse all = ask(one, *loaded.instance, names);
      for (const std::string& name : names) {
        const ReceivedResponse alone = ask(one, *loaded.instance, {name});
        EXPECT_EQ(alone.code, Code::kOk) << alone.message;
        const ReceivedOutput *expected = all.find(name), *found = alone.find(name);
        EXPECT_EQ(found != nullptr, expected != nullptr) << one.name << ": output " << name;
        if (found == nullptr || expected == nullptr) continue;
        EXPECT_TRUE(is_as_configured(one, *found)) << one.name;
        EXPECT_TRUE(found->bytes == expected->bytes) << one.name << ": other bytes in output " << name
                                                     << " than with all of " << names.size() << " outputs";
      }
    }
  });
}

TEST_P(BackendConformance, OutputsGoToTheirPlacesInWhateverOrderTheyAreAskedFor) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      std::vector<std::string> names = asked(one);
      const ReceivedResponse anywhere = ask(one, *loaded.instance, names);
      std::ranges::reverse(names);
      std::vector<std::string> places;
      for (const std::string& name : names) {
        const ReceivedOutput* output = anywhere.find(name);
        const size_t size = output == nullptr ? 0 : output->bytes.size();
        places.emplace_back(size + 2 * kGuardBytes, kGuard);
      }
      const ReceivedResponse placed = ask(one, *loaded.instance, names, &places);
      EXPECT_EQ(placed.code, Code::kOk) << placed.message;
      EXPECT_TRUE(one.right(placed, 0)) << one.name;
      for (size_t i = 0; i < names.size(); ++i) {
        const std::string guard(kGuardBytes, kGuard);
        EXPECT_TRUE(places[i].starts_with(guard) && places[i].ends_with(guard))
            << one.name << ": bytes around the place of output " << names[i] << " were written";
      }
    }
  });
}

TEST_P(BackendConformance, ABadRequestFailsAlone) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      if (!one.fill_bad) continue;
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      size_t count = batch_of(one), bad = count / 2;
      Requests requests;
      for (size_t i = 0; i < count; ++i) add(requests, one, i == bad);
      (void)execute(*loaded.instance, requests).ok();
      EXPECT_NE(requests[bad]->response().code, Code::kOk) << one.name;
      EXPECT_FALSE(requests[bad]->response().message.empty());
      for (size_t i = 0; i < count; ++i) {
        if (i != bad) expect_right(one, requests, i);
      }
      expect_clean(requests);
      run_case(one, *loaded.instance, 1, 0);
    }
  });
}

TEST_P(BackendConformance, AFailedOutputAllocationFailsAlone) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      size_t count = batch_of(one), poor = count - 1;
      Requests requests;
      for (size_t i = 0; i < count; ++i) add(requests, one);
      requests[poor]->fail_allocations(Code::kResourceExhausted, "no memory for outputs");
      (void)execute(*loaded.instance, requests).ok();
      ReceivedResponse response = requests[poor]->response();
      EXPECT_EQ(response.code, Code::kResourceExhausted) << response.message;
      for (size_t i = 0; i < poor; ++i) expect_right(one, requests, i);
      expect_clean(requests);
    }
  });
}

TEST_P(BackendConformance, InstancesRunSideBySide) {
  check([&] {
    const BackendCase& one = GetParam().cases.front();
    auto model = backend_->load(one.source);
    ASSERT_TRUE(is_ok(model));
    std::vector<std::unique_ptr<BackendInstance>> instances;
    for (uint32_t i = 0; i < 3; ++i) {
      auto instance = (*model)->create_instance(spec(i));
      ASSERT_TRUE(is_ok(instance));
      instances.push_back(std::move(instance).value());
    }
    std::vector<std::thread> threads;
    for (auto& instance : instances) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) run_case(one, *instance, 1, 0);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(BackendConformance, ALoadWithoutFilesFails) {
  check([&] {
    ModelSource source = GetParam().broken;
    if (source.name.empty()) {
      source = GetParam().cases.front().source;
      source.model_directory = "/nonexistent/model";
      source.version_directory = "/nonexistent/model/1";
    }
    auto model = backend_->load(source);
    if (model.ok()) {
      auto instance = (*model)->create_instance(spec());
      EXPECT_FALSE(instance.ok()) << "neither the load nor the instance noticed";
      EXPECT_FALSE(instance.status().message().empty());
    } else {
      EXPECT_FALSE(model.status().message().empty());
    }
  });
}

TEST_P(BackendConformance, LoadAndUnloadRepeat) {
  check([&] {
    const BackendCase& one = GetParam().cases.front();
    for (int i = 0; i < 10; ++i) {
      Loaded loaded = load(one);
      ASSERT_TRUE(loaded.instance);
      run_case(one, *loaded.instance, 1, 0);
      loaded.instance.reset();
      loaded.model.reset();
    }
  });
}

TEST_P(BackendConformance, CompletingTwiceChangesNothing) {
  check([&] {
    for (const BackendCase& one : GetParam().cases) {
      auto once = backend_->complete_config(one.source);
      ASSERT_TRUE(is_ok(once)) << one.name;
      ModelSource completed = one.source;
      completed.config = once.value();
      auto twice = backend_->complete_config(completed);
      ASSERT_TRUE(is_ok(twice)) << one.name;
      EXPECT_EQ(twice.value(), once.value()) << one.name;
    }
  });
}

}  // namespace atl::test
