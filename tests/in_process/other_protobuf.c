/* A protobuf and a gRPC that are not ours: whoever calls them is ended. */
#include <stdio.h>
#include <stdlib.h>

int other_protobuf_calls = 0;

#define FUNCTION(number, symbol)                             \
  void function_##number(void) __asm__(symbol);              \
  void function_##number(void) {                             \
    ++other_protobuf_calls;                                  \
    fprintf(stderr, "the program's %s is called\n", symbol); \
    abort();                                                 \
  }

FUNCTION(1, "_ZN6google8protobuf11MessageLiteD2Ev")
FUNCTION(2, "_ZN6google8protobuf8internal20AddDescriptorsRunnerC1EPKNS1_15DescriptorTableE")
FUNCTION(3, "_ZN6google8protobuf8internal14AddDescriptorsEPKNS1_15DescriptorTableE")
FUNCTION(
    4,
    "_ZN6google8protobuf8internal14ArenaStringPtr3SetERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPNS0_5ArenaE")
FUNCTION(5, "_ZN6google8protobuf7Message9MergeFromERKS1_")
FUNCTION(6, "_ZNK6google8protobuf7Message8UtilNameB5cxx11Ev")
FUNCTION(7, "_ZNK6google8protobuf11MessageLite17SerializeAsStringB5cxx11Ev")
FUNCTION(
    8,
    "_ZNK6google8protobuf11MessageLite17SerializeToStringEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")
FUNCTION(9, "_ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi")
FUNCTION(10, "_ZN6google8protobuf10TextFormat6Parser5ParseEPNS0_2io19ZeroCopyInputStreamEPNS0_7MessageE")
FUNCTION(11, "_ZN6google8protobuf5Arena21AllocateAlignedNoHookEm")
FUNCTION(12, "grpc_init")
FUNCTION(13, "grpc_shutdown")
FUNCTION(14, "gpr_malloc")
FUNCTION(15, "gpr_free")
