import com.google.common.util.concurrent.ListenableFuture;
import inference.GrpcService.LogSettingsRequest;
import inference.GrpcService.ModelInferRequest;
import inference.GrpcService.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

final class UnaryCases {
  private static final int MEBIBYTE = 1 << 20;
  /** The least that gRPC for Java pings at. */
  private static final int PING_S = 10;
  /** By when a request is with its model. */
  static final int GIVEN_UP_AFTER_MS = 300;

  private UnaryCases() {}

  static void addTo(Client client) {
    client.add("unary", connection -> connection.infer("echo", "one", 16));
    client.add("unary_compressed", UnaryCases::compressed);
    client.add("unary_large", connection -> connection.infer("echo", "large", 3 * MEBIBYTE));
    client.add("unary_too_large", UnaryCases::tooLarge);
    client.add("unary_many_at_once", UnaryCases::manyAtOnce);
    client.add("unary_deadline", connection -> connection.ends(Status.Code.DEADLINE_EXCEEDED, () -> late(connection, GIVEN_UP_AFTER_MS)));
    client.add("unary_cancel", UnaryCases::cancel);
    client.add("metadata", UnaryCases::metadata);
    client.add("errors", UnaryCases::errors);
    client.add("health", UnaryCases::health);
    client.addBeside("keepalive_idle", UnaryCases::pings, UnaryCases::idle);
    client.addBeside("keepalive_in_a_call", UnaryCases::pings, UnaryCases::longCall);
  }

  private static void compressed(Connection connection) {
    for (int i = 0; i < 10; i++) {
      ModelInferRequest request = Connection.echoed("echo", "compressed", 1 << (2 * i));
      Connection.checkEcho(request, connection.calls().withCompression("gzip").modelInfer(request));
    }
  }

  private static void tooLarge(Connection connection) {
    ModelInferRequest request = Connection.echoed("echo", "too large", 5 * MEBIBYTE);
    for (int i = 0; i < 3; i++) {
      Connection.expect(Status.Code.RESOURCE_EXHAUSTED, () -> connection.calls().modelInfer(request));
      connection.infer("echo", "after", 4);
    }
  }

  private static void manyAtOnce(Connection connection) throws Exception {
    List<ModelInferRequest> requests = new ArrayList<>();
    List<ListenableFuture<ModelInferResponse>> answers = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      requests.add(Connection.echoed("echo", Integer.toString(i), 1 + i % 3000));
      answers.add(connection.futures().modelInfer(requests.get(i)));
    }
    for (int i = 0; i < requests.size(); i++) {
      Connection.checkEcho(requests.get(i), answers.get(i).get());
    }
  }

  private static ModelInferResponse late(Connection connection, int milliseconds) {
    return connection.calls().withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS).modelInfer(Connection.echoed("stuck", "late", 4));
  }

  private static void cancel(Connection connection) throws Exception {
    connection.ends(Status.Code.CANCELLED, () -> {
      ListenableFuture<ModelInferResponse> answer = connection.futures().modelInfer(Connection.echoed("stuck", "cancelled", 4));
      Thread.sleep(GIVEN_UP_AFTER_MS);  // or it might be cancelled before it is sent
      Connection.check(answer.cancel(true), "it was answered");
      throw Status.CANCELLED.asException();
    });
  }

  /** The server asks for this metadata of calls that look at its log settings. */
  private static void metadata(Connection connection) {
    Metadata.Key<String> key = Metadata.Key.of("triton-grpc-protocol-admin-key", Metadata.ASCII_STRING_MARSHALLER);
    Metadata.Key<byte[]> binary = Metadata.Key.of("some-bin", Metadata.BINARY_BYTE_MARSHALLER);
    Metadata.Key<String> type = Metadata.Key.of("content-type", Metadata.ASCII_STRING_MARSHALLER);
    LogSettingsRequest request = LogSettingsRequest.getDefaultInstance();
    Connection.expect(Status.Code.UNAVAILABLE, () -> connection.calls().logSettings(request));
    Metadata sent = new Metadata();
    sent.put(key, "another");
    Connection.expect(Status.Code.UNAVAILABLE,
        () -> connection.calls().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(sent)).logSettings(request));
    sent.discardAll(key);
    sent.put(binary, new byte[] {0, -1, ',', '=', '\n'});
    sent.put(key, "secret");
    sent.put(binary, new byte[0]);
    AtomicReference<Metadata> header = new AtomicReference<>();
    AtomicReference<Metadata> trailer = new AtomicReference<>();
    connection.calls().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(sent),
        MetadataUtils.newCaptureMetadataInterceptor(header, trailer)).logSettings(request);
    Connection.check("application/grpc".equals(header.get().get(type)), "the header is " + header + ", and the trailer " + trailer);
  }

  private static void errors(Connection connection) {
    Connection.expect(Status.Code.NOT_FOUND, () -> connection.calls().modelInfer(Connection.echoed("nobody", "", 4)));
    ModelInferRequest right = Connection.echoed("echo", "", 4);
    ModelInferRequest wrong = right.toBuilder().setInputs(0, Connection.input("INPUT0", "INT32", 5)).build();
    Connection.expect(Status.Code.INVALID_ARGUMENT, () -> connection.calls().modelInfer(wrong));
    for (String path : List.of("inference.GRPCInferenceService/Nothing", "of.Nobody/ModelInfer")) {
      MethodDescriptor<ModelInferRequest, ModelInferResponse> method =
          MethodDescriptor.<ModelInferRequest, ModelInferResponse>newBuilder()
              .setType(MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(path)
              .setRequestMarshaller(ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()))
              .setResponseMarshaller(ProtoUtils.marshaller(ModelInferResponse.getDefaultInstance()))
              .build();
      Connection.expect(Status.Code.UNIMPLEMENTED,
          () -> ClientCalls.blockingUnaryCall(connection.channel, method, CallOptions.DEFAULT, right));
    }
    connection.infer("echo", "after", 4);
  }

  private static void health(Connection connection) {
    HealthCheckResponse answer = HealthGrpc.newBlockingStub(connection.channel).check(HealthCheckRequest.getDefaultInstance());
    Connection.check(answer.getStatus() == HealthCheckResponse.ServingStatus.SERVING, "the server is " + answer.getStatus());
  }

  private static void pings(ManagedChannelBuilder<?> builder) {
    builder.keepAliveTime(PING_S, TimeUnit.SECONDS).keepAliveTimeout(3, TimeUnit.SECONDS).keepAliveWithoutCalls(true);
  }

  /** A ping without calls, which the server has to answer for the connection to live. */
  private static void idle(Connection connection) throws Exception {
    connection.infer("echo", "before", 4);
    Thread.sleep(1000 * (PING_S + 4));
    Connection.check(connection.channel.getState(false) == ConnectivityState.READY, "the connection has not lived");
    connection.infer("echo", "after", 4);
  }

  /** The same in a call. */
  private static void longCall(Connection connection) {
    Connection.expect(Status.Code.DEADLINE_EXCEEDED, () -> late(connection, 1000 * (PING_S + 4)));
    Connection.check(connection.channel.getState(false) == ConnectivityState.READY, "the connection has not lived");
    connection.infer("echo", "after", 4);
  }
}
