import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Prints the microseconds of a decision of Kafka's StandardAuthorizer, with the ACLs of benchmarks.authorizer. */
final class AclDecision implements AuthorizableRequestContext {
  private static final int DECISIONS = 200_000;
  private static final int ROUNDS = 10;

  public static void main(String[] args) throws Exception {
    StandardAuthorizer authorizer = new StandardAuthorizer();
    authorizer.configure(Map.of());
    for (int number = 0; number < Integer.parseInt(args[0]); number++) {
      PatternType kind = number % 2 == 1 ? PatternType.PREFIXED : PatternType.LITERAL;
      String principal = "User:" + number % 100 / 2 * 2;
      authorizer.addAcl(
          Uuid.randomUuid(),
          new StandardAcl(
              ResourceType.TOPIC, "topic-" + number + "-", kind, principal, "*", AclOperation.READ, AclPermissionType.ALLOW));
    }
    authorizer.completeInitialLoad();
    for (String name : List.of("topic-0-", "topic-1-a", "other")) {
      System.out.println(best(authorizer, name));
    }
  }

  private static double best(StandardAuthorizer authorizer, String name) {
    ResourcePattern topic = new ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL);
    List<Action> asked = List.of(new Action(AclOperation.READ, topic, 1, false, false));
    AuthorizableRequestContext context = new AclDecision();
    AuthorizationResult expected = name.equals("other") ? AuthorizationResult.DENIED : AuthorizationResult.ALLOWED;
    double best = Double.MAX_VALUE;
    for (int round = 0; round < ROUNDS; round++) {
      long begun = System.nanoTime();
      for (int decision = 0; decision < DECISIONS; decision++) {
        if (authorizer.authorize(context, asked).get(0) != expected) {
          throw new IllegalStateException(name);
        }
      }
      best = Math.min(best, (System.nanoTime() - begun) / 1e3 / DECISIONS);
    }
    return best;
  }

  public String listenerName() { return "PLAINTEXT"; }
  public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
  public KafkaPrincipal principal() { return new KafkaPrincipal("User", "0"); }
  public InetAddress clientAddress() { return InetAddress.getLoopbackAddress(); }
  public int requestType() { return 1; }
  public int requestVersion() { return 1; }
  public String clientId() { return "benchmark"; }
  public int correlationId() { return 1; }
}
