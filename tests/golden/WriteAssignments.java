// Assigns partitions with Apache Kafka's own server-side assignors: a line of JSON on stdin has the
// assignor, the subscription type, the topics and the members of a group; the assignment goes to
// stdout as a line of JSON. Members, and what they have, are handed over in the order of the line,
// where a broker's hash maps would hand them over in theirs. Run by
// `python -m tests.golden assignments`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

public class WriteAssignments {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(MAPPER.writeValueAsString(assigned(MAPPER.readTree(line))));
        }
    }

    private static Map<String, Map<String, Set<Integer>>> assigned(JsonNode wanted) {
        ConsumerGroupPartitionAssignor assignor = wanted.get("assignor").asText().equals("range")
            ? new RangeAssignor() : new UniformAssignor();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        GroupSpecImpl group = new GroupSpecImpl(
            members(wanted.get("members"), owners),
            SubscriptionType.valueOf(wanted.get("type").asText()),
            owners);
        Map<String, Map<String, Set<Integer>>> found = new TreeMap<>();
        Map<String, MemberAssignment> members =
            assignor.assign(group, new Topics(wanted.get("topics"))).members();
        members.forEach((memberId, assignment) -> {
            Map<String, Set<Integer>> partitions = new TreeMap<>();
            assignment.partitions().forEach((topicId, numbers) ->
                partitions.put(topicId.toString(), new TreeSet<>(numbers)));
            found.put(memberId, partitions);
        });
        return found;
    }

    private static Map<String, MemberSubscriptionAndAssignmentImpl> members(
        JsonNode told, Map<Uuid, Map<Integer, String>> owners
    ) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        told.fields().forEachRemaining(named -> {
            JsonNode member = named.getValue();
            Set<Uuid> topics = new LinkedHashSet<>();
            member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
            Map<Uuid, Set<Integer>> current = new LinkedHashMap<>();
            member.get("current").fields().forEachRemaining(topic -> {
                Uuid topicId = Uuid.fromString(topic.getKey());
                topic.getValue().forEach(partition -> {
                    current.computeIfAbsent(topicId, id -> new LinkedHashSet<>())
                        .add(partition.asInt());
                    owners.computeIfAbsent(topicId, id -> new HashMap<>())
                        .put(partition.asInt(), named.getKey());
                });
            });
            members.put(named.getKey(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(),
                Optional.ofNullable(member.get("instance").textValue()),
                topics,
                new Assignment(Collections.unmodifiableMap(current))));
        });
        return members;
    }

    private record Topics(JsonNode counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topicId) {
            JsonNode count = counts.get(topicId.toString());
            return count == null ? -1 : count.asInt();
        }

        @Override
        public Set<String> racksForPartition(Uuid topicId, int partition) {
            return Set.of();
        }
    }
}
