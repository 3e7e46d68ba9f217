#include "backends/python/memory/message_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "backends/python/testing/worker_end.h"

namespace atl::python {
namespace {

RingMessage numbered(uint64_t id) {
  RingMessage message;
  message.type = MessageType::kLog;
  message.id = id;
  return message;
}

TEST(MessageRing, MessagesComeInOrder) {
  const auto region = std::make_unique<ControlRegion>();
  WorkerRing worker(region->out);
  RingConsumer consumer(region->out);
  RingMessage message;
  EXPECT_EQ(consumer.take(message), RingConsumer::State::kEmpty);
  for (uint64_t round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < kOutEntries; ++i) ASSERT_TRUE(worker.put(numbered(round * 1000 + i)));
    for (uint64_t i = 0; i < kOutEntries; ++i) {
      ASSERT_EQ(consumer.take(message), RingConsumer::State::kMessage);
      EXPECT_EQ(message.id, round * 1000 + i);
    }
    EXPECT_EQ(consumer.take(message), RingConsumer::State::kEmpty);
  }
}

TEST(MessageRing, AFullOneSaysSoAndAsksToBeTold) {
  const auto region = std::make_unique<ControlRegion>();
  RingProducer producer(region->work);
  WorkerRing worker(region->work);
  for (uint64_t i = 0; i < kWorkEntries; ++i) ASSERT_TRUE(producer.put(numbered(i)));
  EXPECT_FALSE(producer.put(numbered(99)));
  EXPECT_EQ(region->work.header.producer_waiting, 1u);
  RingMessage message;
  ASSERT_TRUE(worker.take(message));
  EXPECT_EQ(message.id, 0u);
  EXPECT_TRUE(producer.put(numbered(99)));
}

TEST(MessageRing, MoreThanTheRingHoldsIsALie) {
  const auto region = std::make_unique<ControlRegion>();
  RingConsumer consumer(region->out);
  region->out.header.tail = kOutEntries + 1;
  RingMessage message;
  EXPECT_EQ(consumer.take(message), RingConsumer::State::kBroken);
  region->out.header.tail = 0xffffffff;
  EXPECT_EQ(consumer.take(message), RingConsumer::State::kBroken);
}

TEST(MessageRing, AWaitingConsumerIsWokenUpByAMessageAndByTheEnd) {
  const auto region = std::make_unique<ControlRegion>();
  RingConsumer consumer(region->out);
  std::atomic<uint64_t> sum{0};
  std::thread reader([&] {
    RingMessage message;
    while (true) {
      const auto state = consumer.take(message);
      if (state == RingConsumer::State::kMessage) {
        sum += message.id;
      } else if (consumer.is_closed()) {
        break;
      } else {
        consumer.wait();
      }
    }
  });
  WorkerRing worker(region->out);
  uint64_t sent = 0;
  for (uint64_t i = 1; i <= 20'000; ++i) {
    while (!worker.put(numbered(i))) std::this_thread::yield();
    sent += i;
  }
  while (sum != sent) std::this_thread::yield();
  consumer.close();
  reader.join();
}

TEST(MessageRing, WhatWasSentBeforeTheEndIsStillThere) {
  const auto region = std::make_unique<ControlRegion>();
  RingConsumer consumer(region->out);
  WorkerRing worker(region->out);
  ASSERT_TRUE(worker.put(numbered(7)));
  consumer.close();
  consumer.close();
  RingMessage message;
  EXPECT_EQ(consumer.take(message), RingConsumer::State::kMessage);
  EXPECT_EQ(consumer.take(message), RingConsumer::State::kEmpty);
  consumer.wait();  // does not
}

}  // namespace
}  // namespace atl::python
