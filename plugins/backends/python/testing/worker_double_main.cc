/// A worker without Python, for tests of the server's side: answers each input as an output, and breaks its protocol in the way that the
/// model's file names.
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "backends/python/calls/json_message.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/testing/worker_end.h"

#ifdef __SANITIZE_ADDRESS__
/// The server preloads a library into workers, and AddressSanitizer would have to come before it.
extern "C" const char* __asan_default_options() { return "verify_asan_link_order=0"; }
#endif

namespace atl::python {
namespace {

struct Mapping {
  std::byte* data = nullptr;
  uint64_t size = 0;
};

class Double {
 public:
  explicit Double(int socket) : socket_(socket) {}

  int run() {
    Hello hello;
    const int control = receive(&hello, sizeof hello);
    if (control < 0) return 3;
    control_ = reinterpret_cast<ControlRegion*>(map(control, hello.control_size_bytes));
    HelloReply reply;
    (void)!::send(socket_, &reply, sizeof reply, MSG_NOSIGNAL);
    WorkerRing work(control_->work);
    RingMessage message;
    while (true) {
      if (!work.take(message)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        char byte;
        if (::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return 1;
        continue;
      }
      if (message.type == MessageType::kFinalize) {
        send({.type = MessageType::kFinalized});
        return 0;
      }
      if (message.type == MessageType::kInitialize) initialize(message);
      if (message.type == MessageType::kAutoComplete)
        send_json(MessageType::kAutoCompleted, {{"config", nullptr}});
      if (message.type == MessageType::kExecute) execute(message);
    }
  }

 private:
  static std::byte* map(int file, uint64_t size) {
    void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return static_cast<std::byte*>(mapped);
  }
  /// \returns the descriptor that came with it, or -1
  int receive(void* packet, size_t size) const {
    iovec part = {packet, size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) <= 0) return -1;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (header != nullptr) std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
  }
  void receive_slab() {
    SlabPacket packet;
    const int file = receive(&packet, sizeof packet);
    if (file < 0) std::exit(4);
    slabs_[packet.index] = {map(file, packet.size_bytes), packet.size_bytes};
    if (packet.owner == SlabOwner::kWorker) own_ = packet.index;
  }
  std::byte* at(uint32_t slab, uint64_t offset) {
    while (!slabs_.contains(slab)) receive_slab();
    return slabs_[slab].data + offset;
  }
  void send(const RingMessage& message) {
    WorkerRing out(control_->out);
    while (!out.put(message)) std::this_thread::yield();
  }
  /// Room for a payload in the worker's own memory, which is used from the beginning again and again.
  std::byte* block(uint64_t size, RingMessage& message) {
    if (own_ == UINT32_MAX) {
      send({.type = MessageType::kSlabWanted, .value = 1 << 20});
      while (own_ == UINT32_MAX) receive_slab();
    }
    const uint64_t offset = (next_block_++ % 16) * (32 << 10);
    auto* header = reinterpret_cast<BlockHeader*>(at(own_, offset));
    while (std::atomic_ref(header->held).load() != 0) std::this_thread::yield();
    header->held = 1;
    message.slab = own_;
    message.offset = offset + sizeof(BlockHeader);
    message.size_bytes = size;
    return at(own_, message.offset);
  }
  void send_json(MessageType type, const nlohmann::json& object) {
    RingMessage message;
    message.type = type;
    const std::string text = object.dump();
    std::memcpy(block(text.size(), message), text.data(), text.size());
    send(message);
  }
  void initialize(const RingMessage& message) {
    const auto* text = reinterpret_cast<const char*>(at(message.slab, message.offset));
    const nlohmann::json object = nlohmann::json::parse(std::string(text, message.size_bytes));
    std::ifstream file(object["module_path"].get<std::string>());
    std::getline(file, mode_);
    if (mode_ == "dies in initialize") ::raise(SIGKILL);
    if (mode_ == "fails in initialize")
      return send_json(MessageType::kInitialized, {{"error", "it cannot be"}});
    if (mode_ != "never initialised") send_json(MessageType::kInitialized, {{"is_ready", false}});
  }

  void execute(const RingMessage& message) {
    const PayloadView batch(at(message.slab, message.offset), message.size_bytes);
    BatchHeader header;
    (void)batch.read(0, header);
    if (mode_ == "dies in execute") ::raise(SIGKILL);
    if (mode_ == "hangs") ::pause();
    RingMessage answer;
    answer.type = MessageType::kResponses;
    answer.flags = kExecuteReturned;
    answer.id = message.id;
    std::byte* payload = block(24 << 10, answer);
    write(batch, header, payload);
    auto* own = reinterpret_cast<BlockHeader*>(at(answer.slab, answer.offset - sizeof(BlockHeader)));
    lie(answer, payload);
    send(answer);
    if (mode_ == "returns twice") send(answer);
    // The inputs are read by the server: their memory is given back when it is done.
    while (std::atomic_ref(own->held).load() != 0) std::this_thread::yield();
    release(message.slab, message.offset);
    for (const TensorRecord& tensor : tensors_) {
      if ((tensor.data.flags & DataRef::kOwnBlock) != 0) release(tensor.data.slab, tensor.data.offset);
    }
  }
  void release(uint32_t slab, uint64_t offset) {
    std::atomic_ref(reinterpret_cast<BlockHeader*>(at(slab, offset - sizeof(BlockHeader)))->held).store(0);
  }

  void write(const PayloadView& batch, const BatchHeader& header, std::byte* payload) {
    tensors_.clear();
    PayloadWriter writer(payload);
    ResponsesHeader responses;
    (void)writer.reserve<ResponsesHeader>();
    responses.response_count = header.request_count;
    responses.responses = writer.reserve<ResponseRecord>(header.request_count);
    writer.put(0, responses);
    for (uint32_t i = 0; i < header.request_count; ++i) {
      RequestRecord request;
      (void)batch.read(header.requests + i * sizeof request, request);
      writer.put(responses.responses + i * sizeof(ResponseRecord), answer(batch, request, writer));
    }
  }
  ResponseRecord answer(const PayloadView& batch, const RequestRecord& request, PayloadWriter& writer) {
    ResponseRecord record;
    record.handle = request.handle;
    record.flags = ResponseRecord::kResponse | ResponseRecord::kLast;
    record.tensor_count = request.input_count;
    record.tensors = writer.reserve<TensorRecord>(request.input_count);
    for (uint32_t k = 0; k < request.input_count; ++k) {
      TensorRecord tensor;
      (void)batch.read(request.inputs + k * sizeof tensor, tensor);
      tensors_.push_back(tensor);
      std::string name;
      (void)batch.read(tensor.name, name);
      std::vector<int64_t> shape(tensor.rank);
      (void)batch.read_array(tensor.shape, std::span(shape));
      float first = 0;
      const std::byte* data = at(tensor.data.slab, tensor.data.offset);
      if (tensor.data.size_bytes >= sizeof first) std::memcpy(&first, data, sizeof first);
      if (first == -1.0f) {
        record.flags |= ResponseRecord::kError;
        record.error_code = 3;
        record.error = writer.add_text("a negative value");
      }
      tensor.name = writer.add_text("OUTPUT" + name.substr(name.find_first_of("0123456789")));
      tensor.shape = writer.add_array(std::span<const int64_t>(shape));
      tensor.data.flags = 0;
      writer.put(record.tensors + k * sizeof tensor, tensor);
    }
    return record;
  }

  /// Changes what is said. The first record and its first tensor are where write() puts them.
  void lie(RingMessage& answer, std::byte* payload) {
    ResponsesHeader header;
    std::memcpy(&header, payload, sizeof header);
    auto* record = reinterpret_cast<ResponseRecord*>(payload + header.responses);
    auto* tensor = reinterpret_cast<TensorRecord*>(payload + record->tensors);
    const std::map<std::string, std::function<void()>> lies = {
        {"bad message type", [&] { answer.type = static_cast<MessageType>(999); }},
        {"bad slab", [&] { answer.slab = 77; }},
        {"bad offset", [&] { answer.offset = UINT64_MAX - 63; }},
        {"bad size", [&] { answer.size_bytes = UINT64_MAX; }},
        {"crooked offset", [&] { answer.offset += 8; }},
        {"no payload", [&] { answer.size_bytes = 0; }},
        {"bad batch", [&] { answer.id += 1000; }},
        {"bad count", [&] { reinterpret_cast<ResponsesHeader*>(payload)->response_count = UINT32_MAX; }},
        {"bad records", [&] { reinterpret_cast<ResponsesHeader*>(payload)->responses = UINT32_MAX; }},
        {"bad handle", [&] { record->handle ^= 1ull << 40; }},
        {"bad tensor count", [&] { record->tensor_count = UINT32_MAX; }},
        {"bad tensors", [&] { record->tensors = UINT32_MAX - 8; }},
        {"bad name", [&] { tensor->name.offset = UINT32_MAX; }},
        {"bad type", [&] { tensor->datatype = 99; }},
        {"bad rank", [&] { tensor->rank = 33; }},
        {"bad shape", [&] { tensor->shape = UINT32_MAX; }},
        {"bad data", [&] { tensor->data.offset = UINT64_MAX - 3; }},
        {"bad data size", [&] { tensor->data.size_bytes += 4; }},
        {"bad data slab", [&] { tensor->data.slab = 1023; }},
        {"bad parameters",
         [&] {
           record->parameters = {UINT32_MAX, 16};
         }},
        {"broken ring", [&] { control_->out.header.tail += 5000; }},
    };
    if (const auto found = lies.find(mode_); found != lies.end()) found->second();
  }

  const int socket_;
  ControlRegion* control_ = nullptr;
  std::map<uint32_t, Mapping> slabs_;
  uint32_t own_ = UINT32_MAX;
  uint64_t next_block_ = 0;
  std::string mode_;
  std::vector<TensorRecord> tensors_;
};

}  // namespace
}  // namespace atl::python

/// -u FOLDER DESCRIPTOR [--all-cpus-when-ready] [--name=NAME], as an interpreter of workers has them.
int main(int count, char** words) { return count < 4 ? 2 : atl::python::Double(std::atoi(words[3])).run(); }
