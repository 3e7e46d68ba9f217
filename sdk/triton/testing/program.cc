#include "testing/program.h"

namespace atl::triton::test {

atl::test::ReceivedResponse copy_of(TRITONSERVER_InferenceResponse* response, uint32_t flags) {
  atl::test::ReceivedResponse copy;
  copy.flags = flags;
  copy.empty = response == nullptr;
  if (response == nullptr) return copy;
  Status status = take_error(TRITONSERVER_InferenceResponseError(response));
  copy.code = status.code();
  copy.message = status.message();
  uint32_t count = 0;
  expect_ok(TRITONSERVER_InferenceResponseOutputCount(response, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
    const int64_t* shape = nullptr;
    uint64_t rank = 0;
    const void* base = nullptr;
    size_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_GPU;
    int64_t device = -1;
    void* userp = nullptr;
    expect_ok(TRITONSERVER_InferenceResponseOutput(response, i, &name, &type, &shape, &rank, &base, &size,
                                                   &memory, &device, &userp));
    EXPECT_EQ(memory, TRITONSERVER_MEMORY_CPU);
    copy.outputs.push_back(
        {name, static_cast<DataType>(type), {shape, shape + rank}, {static_cast<const char*>(base), size}});
  }
  return copy;
}

TRITONSERVER_Error* ProgramAllocator::start(TRITONSERVER_ResponseAllocator*, void* userp) {
  ++static_cast<ProgramAllocator*>(userp)->starts;
  return nullptr;
}

TRITONSERVER_Error* ProgramAllocator::allocate(TRITONSERVER_ResponseAllocator*, const char* name, size_t size,
                                               TRITONSERVER_MemoryType, int64_t, void* userp, void** buffer,
                                               void** buffer_userp, TRITONSERVER_MemoryType* type,
                                               int64_t* device) {
  auto* self = static_cast<ProgramAllocator*>(userp);
  if (self->fails) return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no memory today");
  *buffer_userp = self;
  *type = TRITONSERVER_MEMORY_CPU;
  *device = 0;
  *buffer = nullptr;
  if (self->gives_nothing) return nullptr;
  if (std::string_view(name) == "PLACED") {
    if (size > self->place.size()) return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "too large");
    *buffer = self->place.data();
  } else {
    *buffer = std::malloc(size + 1);
  }
  ++self->allocations;
  return nullptr;
}

TRITONSERVER_Error* ProgramAllocator::release(TRITONSERVER_ResponseAllocator*, void* buffer,
                                              void* buffer_userp, size_t, TRITONSERVER_MemoryType type,
                                              int64_t) {
  auto* self = static_cast<ProgramAllocator*>(buffer_userp);
  EXPECT_EQ(type, TRITONSERVER_MEMORY_CPU);
  if (buffer != self->place.data()) std::free(buffer);
  ++self->releases;
  return nullptr;
}

ProgramRequest::ProgramRequest(FakeServer& server, ProgramAllocator& allocator, const char* model)
    : server_(server) {
  expect_ok(TRITONSERVER_InferenceRequestNew(&handle_, &server, model, -1));
  expect_ok(TRITONSERVER_InferenceRequestSetReleaseCallback(handle_, release, this));
  expect_ok(TRITONSERVER_InferenceRequestSetResponseCallback(handle_, allocator.handle(), &allocator, respond,
                                                             this));
}

ProgramRequest::~ProgramRequest() {
  if (handle_ != nullptr) expect_ok(TRITONSERVER_InferenceRequestDelete(handle_));
}

void ProgramRequest::add_input(const char* name, std::string_view bytes, TRITONSERVER_DataType type) {
  const auto count = static_cast<int64_t>(bytes.size());
  expect_ok(TRITONSERVER_InferenceRequestAddInput(handle_, name, type, &count, 1));
  expect_ok(TRITONSERVER_InferenceRequestAppendInputData(handle_, name, bytes.data(), bytes.size(),
                                                         TRITONSERVER_MEMORY_CPU, 0));
}

bool ProgramRequest::wait_done(int times) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1),
                           [&] { return finals_ >= times && releases_ >= times; });
}

std::vector<atl::test::ReceivedResponse> ProgramRequest::responses() const {
  std::lock_guard lock(mutex_);
  return responses_;
}

int ProgramRequest::releases() const {
  std::lock_guard lock(mutex_);
  return releases_;
}

void ProgramRequest::respond(TRITONSERVER_InferenceResponse* response, const uint32_t flags, void* userp) {
  auto* self = static_cast<ProgramRequest*>(userp);
  atl::test::ReceivedResponse copy = copy_of(response, flags);
  if (self->on_response) {
    self->on_response(response, flags);
  } else if (response != nullptr) {
    expect_ok(TRITONSERVER_InferenceResponseDelete(response));
  }
  std::lock_guard lock(self->mutex_);
  self->responses_.push_back(std::move(copy));
  if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) ++self->finals_;
  self->changed_.notify_all();  // inside the lock: who waits may destroy this object at once
}

void ProgramRequest::release(TRITONSERVER_InferenceRequest* request, const uint32_t flags, void* userp) {
  auto* self = static_cast<ProgramRequest*>(userp);
  EXPECT_EQ(flags, static_cast<uint32_t>(TRITONSERVER_REQUEST_RELEASE_ALL));
  if (self->on_release) self->on_release(request);
  std::lock_guard lock(self->mutex_);
  ++self->releases_;
  self->changed_.notify_all();
}

}  // namespace atl::triton::test
