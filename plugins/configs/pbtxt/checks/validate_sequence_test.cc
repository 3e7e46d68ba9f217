#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

std::string control(const std::string& text) {
  return "sequence_batching { control_input { name: 'c' control { " + text + " } } }";
}

TEST(ValidateSequence, Controls) {
  expect_messages(
      "backend: 'b' ",
      {{"sequence_batching { }", "OK"},
       {"response_cache { enable: true } sequence_batching { }",
        "Response Cache does not currently support model m with sequence batching scheduler. Please disable "
        "the response cache."},
       {"sequence_batching { control_input { } }", "sequence batching control tensor must have a name for m"},
       {"sequence_batching { control_input { name: 'c' } control_input { name: 'c' } }",
        "sequence batching control tensor 'c' is specified for multiple control kinds for m"},
       {"sequence_batching { control_input { name: 'c' control { kind: CONTROL_SEQUENCE_END bool_false_true: "
        "[ false, true ] } } control_input { name: 'd' control { kind: CONTROL_SEQUENCE_END bool_false_true: "
        "[ false, true ] } } }",
        "sequence batching specifies multiple CONTROL_SEQUENCE_END tensors for m"},
       {control("kind: CONTROL_SEQUENCE_START"),
        "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' "
        "for CONTROL_SEQUENCE_START for m"},
       {control("kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ]"),
        "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and "
        "'bool_false_true' for CONTROL_SEQUENCE_READY for m"},
       {control("kind: CONTROL_SEQUENCE_START int32_false_true: [ 0 ]"),
        "sequence batching control 'int32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START "
        "for m"},
       {control("kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1, 2 ]"),
        "sequence batching control 'fp32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START "
        "for m"},
       {control("kind: CONTROL_SEQUENCE_START bool_false_true: [ true ]"),
        "sequence batching control 'bool_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START "
        "for m"},
       {control("kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ]"), "OK"},
       {control("kind: CONTROL_SEQUENCE_CORRID int32_false_true: [ 0, 1 ] data_type: TYPE_UINT64"),
        "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or "
        "'bool_false_true' "
        "for CONTROL_SEQUENCE_CORRID for m"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32"),
        "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, "
        "TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING"},
       {control("kind: CONTROL_SEQUENCE_CORRID"),
        "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, "
        "TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING"), "OK"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64"), "OK"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64"), "OK"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT32"), "OK"},
       {control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32"), "OK"},
       {control("kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } control { kind: "
                "CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32"),
        "sequence batching control tensor 'c' is specified for multiple control kinds for m"}});
}

TEST(ValidateSequence, Strategies) {
  expect_messages("backend: 'b' max_batch_size: 4 sequence_batching { ",
                  {{"oldest { preferred_batch_size: [ 2, 4 ] } }", "OK"},
                   {"oldest { preferred_batch_size: 0 } }",
                    "sequence batching preferred batch size must be positive for m"},
                   {"oldest { preferred_batch_size: 5 } }",
                    "sequence batching preferred batch size must be <= max batch size for m"},
                   {"direct { minimum_slot_utilization: 0.0 } }", "OK"},
                   {"direct { minimum_slot_utilization: 1.0 } }", "OK"},
                   {"direct { minimum_slot_utilization: 1.01 } }",
                    "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m"},
                   {"direct { minimum_slot_utilization: -0.5 } }",
                    "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m"},
                   {"direct { minimum_slot_utilization: nan } }",
                    "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m"}});
}

std::string state(const std::string& text, const std::string& dims = "dims: [ 2, -1 ]") {
  return "sequence_batching { state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 " + dims + " " +
         text + " } }";
}

std::string initial(const std::string& text) { return state("initial_state { " + text + " }"); }

TEST(ValidateSequence, States) {
  expect_messages(
      "backend: 'b' ",
      {{state(""), "OK"},
       {"sequence_batching { state { } }", "sequence batching state '' must specify 'input_name' for m"},
       {"sequence_batching { state { input_name: 'i' } }",
        "sequence batching state 'i' must specify 'output_name' for m"},
       {"sequence_batching { state { input_name: 'i' output_name: 'o' dims: 1 } }",
        "sequence batching state 'i' must specify 'data_type' for m"},
       {state("", ""), "sequence batching state 'i' must specify 'dims' for m"},
       {state("", "dims: 0"),
        "sequence batching state 'i' dimension must be integer >= 1, or -1 to indicate a variable-size "
        "dimension for m"},
       {state("", "dims: [ 4611686018427387904, 4611686018427387904 ]"),
        "element count for tensor 'i' exceeds maximum size of 9223372036854775807"},
       {state("use_growable_memory: true"),
        "In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name "
        "'i'."},
       {state("use_growable_memory: true use_same_buffer_for_input_output: true"), "OK"},
       {"sequence_batching { state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: 1 } state { "
        "input_name: 'i' output_name: 'p' data_type: TYPE_FP32 dims: 1 } }",
        "State input name 'i' specified more than once."},
       {"sequence_batching { state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: 1 } state { "
        "input_name: 'j' output_name: 'o' data_type: TYPE_FP32 dims: 1 } }",
        "State output name 'o' specified more than once."}});
}

TEST(ValidateSequence, StatesAreBoundedAsInputsAre) {
  auto ones = [](int rank) {
    std::string text = "dims: [ 1";
    for (int i = 1; i < rank; ++i) text += ", 1";
    return text + " ]";
  };
  const std::string long_name(256, 'n');
  expect_messages(
      "backend: 'b' ",
      {{state("", ones(32)), "OK"},
       {state("", ones(33)),
        "sequence batching state 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {"max_batch_size: 1 " + state("", ones(32)),
        "sequence batching state 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {"sequence_batching { state { input_name: '" + long_name +
            "' output_name: 'o' data_type: TYPE_INT8 dims: 1 } }",
        "a name of a sequence batching state has more than 255 bytes for m"},
       {"sequence_batching { state { input_name: 'i' output_name: '" + long_name +
            "' data_type: TYPE_INT8 dims: 1 } }",
        "a name of a sequence batching state has more than 255 bytes for m"}});
  auto many = [](int states) {
    std::string text =
        "backend: 'b' input { name: 'x' data_type: TYPE_INT8 dims: 1 } sequence_batching { "
        "control_input { name: 'c' } ";
    for (int i = 0; i < states; ++i) {
      text += cat("state { input_name: 'i", i, "' output_name: 'o", i, "' data_type: TYPE_INT8 dims: 1 } ");
    }
    return text + "}";
  };
  EXPECT_EQ(read_message(many(1022)), "OK");
  EXPECT_EQ(read_message(many(1023)),
            "model m has 1025 inputs, control inputs and states, expected at most 1024");
}

TEST(ValidateSequence, InitialStates) {
  expect_messages(
      "backend: 'b' ",
      {{initial("name: 'n' data_type: TYPE_FP32 dims: [ 2, 3 ] zero_data: true"), "OK"},
       {initial("} initial_state { "),
        "initial_state field for state input 'i' must contain exactly one or zero element. Found '2' "
        "elements."},
       {initial("name: 'n' data_type: TYPE_INT32 dims: [ 2, 3 ] zero_data: true"),
        "The data type used for 'initial_state' field of state 'i' does not match the state data type."},
       {initial("data_type: TYPE_FP32 dims: [ 2, 3 ] zero_data: true"),
        "Field 'name' must be set when using initial_state for state input 'i'."},
       {initial("name: 'n' data_type: TYPE_FP32 dims: 2 zero_data: true"),
        "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state "
        "input 'i'. 1 != 2"},
       {initial("name: 'n' data_type: TYPE_FP32 dims: [ 2, -1 ] zero_data: true"),
        "'initial_state' field for state input name 'i' contains variable dimensions."},
       {initial("name: 'n' data_type: TYPE_FP32 dims: [ 2, -2 ] zero_data: true"),
        "'initial_state' field for state input name 'i' contains variable dimensions."},
       {initial("name: 'n' data_type: TYPE_FP32 dims: [ 3, 3 ] zero_data: true"),
        "'initial_state' dim for input name 'i' doesn't match 'state' dim description. 3 != 2"},
       {initial("name: 'n' data_type: TYPE_FP32 dims: [ 2, 3 ]"),
        "initial_state setting expects state'i' to have state_data set"}});
}

}  // namespace
}  // namespace atl::pbtxt
