import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/**
 * A client of the inference service made with gRPC for Java: "Client ADDRESS" runs every case, each on a connection of its own, prints
 * how each went, and ends with 1 if one failed. "Client ADDRESS AUTHORITY CERTIFICATE KEY" does so over mutual TLS.
 */
final class Client {
  interface Body {
    void run(Connection connection) throws Exception;
  }

  private record Case(Consumer<ManagedChannelBuilder<?>> options, Body body, boolean waits) {}

  private final Map<String, Case> cases = new TreeMap<>();

  void add(String name, Body body) {
    cases.put(name, new Case(builder -> {}, body, false));
  }

  /** One that is on its own for long: it runs beside the others. */
  void addBeside(String name, Consumer<ManagedChannelBuilder<?>> options, Body body) {
    cases.put(name, new Case(options, body, true));
  }

  private static String run(String address, ChannelCredentials credentials, Case one) {
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(address, credentials).maxInboundMessageSize(32 << 20);
    one.options().accept(builder);
    try (Connection connection = new Connection(builder.build())) {
      one.body().run(connection);
      return "passed";
    } catch (Exception failure) {
      return "FAILED: " + failure;
    }
  }

  private boolean run(String address, ChannelCredentials credentials) throws Exception {
    ExecutorService beside = Executors.newCachedThreadPool();
    Map<String, Future<String>> ends = new TreeMap<>();
    for (Map.Entry<String, Case> one : cases.entrySet()) {
      if (one.getValue().waits()) {
        ends.put(one.getKey(), beside.submit(() -> run(address, credentials, one.getValue())));
      }
    }
    boolean passed = true;
    for (Map.Entry<String, Case> one : cases.entrySet()) {
      String end = one.getValue().waits() ? ends.get(one.getKey()).get() : run(address, credentials, one.getValue());
      System.out.println(one.getKey() + ": " + end);
      passed = passed && end.equals("passed");
    }
    beside.shutdown();
    return passed;
  }

  private static ChannelCredentials credentials(String[] arguments) throws Exception {
    if (arguments.length == 1) {
      return InsecureChannelCredentials.create();
    }
    return TlsChannelCredentials.newBuilder()
        .trustManager(new File(arguments[1]))
        .keyManager(new File(arguments[2]), new File(arguments[3]))
        .build();
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 1 && arguments.length != 4) {
      System.err.println("usage: Client ADDRESS [AUTHORITY CERTIFICATE KEY]");
      System.exit(2);
    }
    Client client = new Client();
    UnaryCases.addTo(client);
    StreamCases.addTo(client);
    System.exit(client.run(arguments[0], credentials(arguments)) ? 0 : 1);
  }
}
