/// Random ensembles whose members compute numbers, and what they should answer, computed straight on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "schedulers/ensemble/testing/ensemble_bench.h"

namespace atl::ensemble {

/// A graph, and what its members do. Everything a member decides follows from the numbers that it is given, so that
/// the oracle decides alike. Steps read tensors that come before theirs.
struct RandomEnsemble {
  struct Step {
    std::vector<uint32_t> reads;   ///< tensors
    std::vector<uint32_t> writes;  ///< tensors
    bool decoupled = false;
    uint32_t fails_per_mille = 0;
    bool leaves_out = false;  ///< some of its outputs, sometimes
    uint32_t branch = 0;      ///< of its outputs
    bool iterates = false;
  };
  struct Tensor {
    bool is_input = false;
    uint32_t branch = 0;
    bool is_output = false;
  };
  using Number = std::optional<int64_t>;  ///< none: left out
  using Row = std::vector<Number>;        ///< of one response, by requested output

  explicit RandomEnsemble(uint64_t seed);

  std::string config() const;
  std::string member_config(size_t step) const;
  std::vector<uint32_t> outputs() const;
  uint32_t input_count() const;

  /// What a step makes of one set of inputs: a list of rows of outputs; none if it fails.
  std::optional<std::vector<Row>> execute(size_t step, const Row& inputs) const;

  struct Expected {
    bool may_fail = false;    ///< a step fails: the request must
    std::vector<Row> rows;    ///< the responses, in any order if ordered is false
    uint64_t executions = 0;  ///< of all steps
  };
  Expected expect(const Row& inputs, const std::vector<uint32_t>& requested) const;

  std::vector<Tensor> tensors;
  std::vector<Step> steps;

 private:
  void add_step(test::Random& random);
  std::vector<uint8_t> needed(const std::vector<uint32_t>& requested) const;
};

inline int64_t mix(int64_t a, int64_t b) {
  test::Random random(static_cast<uint64_t>(a) * 0x9E3779B97F4A7C15ull ^ static_cast<uint64_t>(b));
  return static_cast<int64_t>(random.next() >> 1);
}

inline RandomEnsemble::RandomEnsemble(uint64_t seed) {
  test::Random random(seed);
  const auto inputs = static_cast<uint32_t>(1 + random.below(3));
  for (uint32_t i = 0; i < inputs; ++i) tensors.push_back({true, 0, false});
  const uint64_t count = 1 + random.below(random.chance(20) ? 30 : 8);
  for (uint64_t i = 0; i < count; ++i) add_step(random);
  // What nobody reads is an output, and some of the others are; all of one branch, as others are refused at load.
  std::vector<bool> is_read(tensors.size());
  for (const Step& step : steps) {
    for (uint32_t tensor : step.reads) is_read[tensor] = true;
  }
  for (size_t i = inputs; i < tensors.size(); ++i) {
    const bool may_be = tensors[i].branch == tensors.back().branch;
    tensors[i].is_output = may_be && (!is_read[i] || random.chance(20));
  }
}

inline void RandomEnsemble::add_step(test::Random& random) {
  Step step;
  const uint64_t reads = 1 + random.below(3);
  uint32_t branch = 0;
  for (uint64_t i = 0; i < reads; ++i) {
    // Mostly of the last ones, so that graphs are deep.
    const uint64_t back = random.chance(70) ? random.below(std::min<uint64_t>(4, tensors.size()))
                                            : random.below(tensors.size());
    const auto tensor = static_cast<uint32_t>(tensors.size() - 1 - back);
    if (step.reads.empty()) branch = tensors[tensor].branch;
    if (tensors[tensor].branch == branch) step.reads.push_back(tensor);  // of two branches: refused at load
  }
  step.decoupled = random.chance(15);
  step.fails_per_mille = random.chance(10) ? 50 : 0;
  step.leaves_out = random.chance(10);
  step.branch = step.decoupled ? static_cast<uint32_t>(steps.size() + 1) : branch;
  const uint64_t writes = 1 + random.below(2);
  for (uint64_t i = 0; i < writes; ++i) {
    step.writes.push_back(static_cast<uint32_t>(tensors.size()));
    tensors.push_back({false, step.branch, false});
  }
  steps.push_back(std::move(step));
}

inline uint32_t RandomEnsemble::input_count() const {
  uint32_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.is_input;
  return count;
}

inline std::vector<uint32_t> RandomEnsemble::outputs() const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_output) found.push_back(i);
  }
  return found;
}

inline std::string RandomEnsemble::config() const {
  std::string text;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_input) {
      text += cat("input { name: \"t", i, "\" data_type: TYPE_INT64 dims: -1 optional: true } ");
    }
    if (tensors[i].is_output) text += cat("output { name: \"t", i, "\" data_type: TYPE_INT64 dims: -1 } ");
  }
  text += "ensemble_scheduling { ";
  for (size_t i = 0; i < steps.size(); ++i) {
    text += cat("step { model_name: \"m", i, "\" ");
    for (size_t k = 0; k < steps[i].reads.size(); ++k) {
      text += cat("input_map { key: \"I", k, "\" value: \"t", steps[i].reads[k], "\" } ");
    }
    for (size_t k = 0; k < steps[i].writes.size(); ++k) {
      text += cat("output_map { key: \"O", k, "\" value: \"t", steps[i].writes[k], "\" } ");
    }
    text += "} ";
  }
  return text + "}";
}

inline std::string RandomEnsemble::member_config(size_t step) const {
  std::string text;
  for (size_t k = 0; k < steps[step].reads.size(); ++k) {
    text += cat("input { name: \"I", k, "\" data_type: TYPE_INT64 dims: -1 optional: true } ");
  }
  for (size_t k = 0; k < steps[step].writes.size(); ++k) {
    text += cat("output { name: \"O", k, "\" data_type: TYPE_INT64 dims: -1 } ");
  }
  if (steps[step].decoupled) text += "model_transaction_policy { decoupled: true }";
  return text;
}

inline std::optional<std::vector<RandomEnsemble::Row>> RandomEnsemble::execute(size_t step,
                                                                               const Row& inputs) const {
  const Step& what = steps[step];
  int64_t salt = static_cast<int64_t>(step) + 1;
  for (const Number& input : inputs) salt = mix(salt, input.value_or(-1));
  test::Random random(static_cast<uint64_t>(salt));
  if (random.below(1000) < what.fails_per_mille) return std::nullopt;
  const uint64_t responses = what.decoupled ? random.below(4) : 1;
  std::vector<Row> rows(static_cast<size_t>(responses));
  for (Row& row : rows) {
    for (size_t i = 0; i < what.writes.size(); ++i) {
      const auto number = static_cast<int64_t>(random.next() >> 1);
      row.push_back(what.leaves_out && random.chance(30) ? Number() : Number(number));
    }
  }
  return rows;
}

inline std::vector<uint8_t> RandomEnsemble::needed(const std::vector<uint32_t>& requested) const {
  std::vector<uint8_t> wanted(tensors.size()), found(steps.size());
  for (uint32_t tensor : requested) wanted[tensor] = 1;
  for (size_t i = steps.size(); i-- > 0;) {
    for (uint32_t tensor : steps[i].writes) found[i] |= wanted[tensor];
    for (uint32_t tensor : steps[i].reads) wanted[tensor] |= found[i];
  }
  return found;
}

inline RandomEnsemble::Expected RandomEnsemble::expect(const Row& inputs,
                                                       const std::vector<uint32_t>& requested) const {
  Expected expected;
  std::vector<std::vector<Number>> values(tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = {inputs[i]};
  const std::vector<uint8_t> is_needed = needed(requested);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (is_needed[i] == 0) continue;
    const Step& step = steps[i];
    size_t iterations = SIZE_MAX;
    for (uint32_t tensor : step.reads) iterations = std::min(iterations, values[tensor].size());
    for (size_t k = 0; k < iterations; ++k) {
      Row row;
      for (uint32_t tensor : step.reads) row.push_back(values[tensor][k]);
      ++expected.executions;
      const auto made = execute(i, row);
      if (!made) {
        expected.may_fail = true;
        return expected;
      }
      for (const Row& response : *made) {
        for (size_t out = 0; out < response.size(); ++out) values[step.writes[out]].push_back(response[out]);
      }
    }
  }
  size_t count = SIZE_MAX;
  for (uint32_t tensor : requested) count = std::min(count, values[tensor].size());
  for (size_t k = 0; k < count; ++k) {
    Row row;
    for (uint32_t tensor : requested) row.push_back(values[tensor][k]);
    expected.rows.push_back(std::move(row));
  }
  return expected;
}

}  // namespace atl::ensemble
