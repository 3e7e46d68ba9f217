import com.google.protobuf.ByteString;
import inference.GRPCInferenceServiceGrpc;
import inference.GrpcService.ModelInferRequest;
import inference.GrpcService.ModelInferResponse;
import inference.GrpcService.ModelStatisticsRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** One connection to the server, what is asked over it, and the checks of what comes back. */
final class Connection implements AutoCloseable {
  /** Bounds how long a case that fails may wait. */
  static final int PATIENCE_S = 60;

  final ManagedChannel channel;

  Connection(ManagedChannel channel) {
    this.channel = channel;
  }

  @Override
  public void close() throws InterruptedException {
    channel.shutdownNow().awaitTermination(PATIENCE_S, TimeUnit.SECONDS);
  }

  GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub calls() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub futures() {
    return GRPCInferenceServiceGrpc.newFutureStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  GRPCInferenceServiceGrpc.GRPCInferenceServiceStub streams() {
    return GRPCInferenceServiceGrpc.newStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  /** Of a model that copies its input. */
  static ModelInferRequest echoed(String model, String id, int values) {
    ByteBuffer raw = ByteBuffer.allocate(4 * values).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < values; i++) {
      raw.putInt(i * 7 + id.length());
    }
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .setId(id)
        .addInputs(input("INPUT0", "INT32", values))
        .addRawInputContents(ByteString.copyFrom(raw.flip()))
        .build();
  }

  static ModelInferRequest.InferInputTensor input(String name, String datatype, int values) {
    return ModelInferRequest.InferInputTensor.newBuilder().setName(name).setDatatype(datatype).addShape(values).build();
  }

  /** Of the model that answers once for each value, from 0 on. */
  static ModelInferRequest repeated(int values) {
    ByteBuffer raw = ByteBuffer.allocate(4 * values).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < values; i++) {
      raw.putInt(i);
    }
    return ModelInferRequest.newBuilder()
        .setModelName("repeat")
        .addInputs(input("IN", "INT32", values))
        .addInputs(input("DELAY", "UINT32", values))
        .addInputs(input("WAIT", "UINT32", 1))
        .addRawInputContents(ByteString.copyFrom(raw.flip()))
        .addRawInputContents(ByteString.copyFrom(new byte[4 * values]))
        .addRawInputContents(ByteString.copyFrom(new byte[4]))
        .build();
  }

  static void check(boolean right, String what) {
    if (!right) {
      throw new IllegalStateException(what);
    }
  }

  static void checkEcho(ModelInferRequest request, ModelInferResponse answer) {
    check(answer.getId().equals(request.getId()) && answer.getModelName().equals(request.getModelName())
            && answer.getRawOutputContentsList().equals(request.getRawInputContentsList()),
        "request '" + request.getId() + "' of '" + request.getModelName() + "' was answered with id '" + answer.getId()
            + "', model '" + answer.getModelName() + "' and other values");
  }

  void infer(String model, String id, int values) {
    ModelInferRequest request = echoed(model, id, values);
    checkEcho(request, calls().modelInfer(request));
  }

  static void expect(Status.Code code, Callable<?> call) {
    Status.Code came;
    try {
      call.call();
      came = Status.Code.OK;
    } catch (Exception failure) {
      came = Status.fromThrowable(failure).getCode();
    }
    check(came == code, "expected " + code + ", got " + came);
  }

  private long failures(String model) {
    return calls().modelStatistics(ModelStatisticsRequest.newBuilder().setName(model).build()).getModelStatsList().stream()
        .mapToLong(one -> one.getInferenceStats().getFail().getCount()).sum();
  }

  /** Runs a call that is to be cancelled while a model has it, and waits until the model has let go. */
  void ends(Status.Code code, Callable<?> call) throws Exception {
    long before = failures("stuck");
    expect(code, call);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (failures("stuck") == before) {
      check(System.nanoTime() < end, "the request is still with its model");
      Thread.sleep(10);
    }
    infer("echo", "after", 4);
  }
}
