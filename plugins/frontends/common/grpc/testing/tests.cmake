# Unit tests that hold for every gRPC frontend. Its test program lists them beside its own, and defines
# ATOLL_FRONTEND_UNDER_TEST as the header that names the frontend.
set(ATOLL_GRPC_FRONTEND_TESTS)
foreach(part contributed_call infer methods reflection remote remote_tls request_memory response_sink security server settings
             stream stream_end stream_limits tenant tls_files trace wait)
  list(APPEND ATOLL_GRPC_FRONTEND_TESTS ${CMAKE_CURRENT_LIST_DIR}/${part}_test.cc)
endforeach()
