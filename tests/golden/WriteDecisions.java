// Has Apache Kafka's StandardAuthorizer decide: a line of JSON on stdin has its configuration, ACLs
// and questions; the answers go to stdout as a line of JSON, a boolean for each question. A question
// without a name is about any resource of its type. Run by `python -m tests.golden decisions`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

public class WriteDecisions {
    record Context(KafkaPrincipal principal, InetAddress clientAddress)
            implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return "asked"; }
        public int correlationId() { return 0; }
    }

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(mapper.writeValueAsString(decided(mapper.readTree(line))));
        }
    }

    private static List<Boolean> decided(JsonNode asked) throws Exception {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        Map<String, Object> configs = new HashMap<>();
        configs.put("super.users", asked.get("super_users").asText());
        configs.put("allow.everyone.if.no.acl.found", asked.get("allows_if_no_acl").asText());
        configs.put("node.id", "1");
        authorizer.configure(configs);
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        for (JsonNode acl : asked.get("acls")) {
            acls.put(Uuid.randomUuid(), new StandardAcl(
                ResourceType.fromCode((byte) acl.get(0).asInt()), acl.get(1).asText(),
                PatternType.fromCode((byte) acl.get(2).asInt()), acl.get(3).asText(),
                acl.get(4).asText(), AclOperation.fromCode((byte) acl.get(5).asInt()),
                AclPermissionType.fromCode((byte) acl.get(6).asInt())));
        }
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        List<Boolean> answers = new ArrayList<>();
        for (JsonNode question : asked.get("questions")) {
            answers.add(answer(authorizer, question) == AuthorizationResult.ALLOWED);
        }
        return answers;
    }

    private static AuthorizationResult answer(StandardAuthorizer authorizer, JsonNode question)
            throws Exception {
        Context context = new Context(
            SecurityUtils.parseKafkaPrincipal(question.get(0).asText()),
            InetAddress.getByName(question.get(1).asText()));
        AclOperation operation = AclOperation.fromCode((byte) question.get(2).asInt());
        ResourceType type = ResourceType.fromCode((byte) question.get(3).asInt());
        if (question.get(4).isNull()) {
            return authorizer.authorizeByResourceType(context, operation, type);
        }
        ResourcePattern resource =
            new ResourcePattern(type, question.get(4).asText(), PatternType.LITERAL);
        return authorizer
            .authorize(context, List.of(new Action(operation, resource, 1, true, true))).get(0);
    }
}
