// Apache Kafka's own consumer subscribed by a pattern that brokers resolve, one step per line of output.
// Arguments: bootstrap servers, group, pattern, partition that is there, topic to make.

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidRegularExpression;

public class PatternConsumer {
    static final Duration TURN = Duration.ofMillis(200);
    static final String STRING = "org.apache.kafka.common.serialization.StringDeserializer";

    static KafkaConsumer<String, String> consumer(String servers, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("group.protocol", "consumer");
        settings.put("key.deserializer", STRING);
        settings.put("value.deserializer", STRING);
        return new KafkaConsumer<>(settings);
    }

    static void pollUntilAssigned(
        KafkaConsumer<String, String> reader, Set<TopicPartition> wanted, String said
    ) {
        while (!reader.assignment().equals(wanted)) reader.poll(TURN);
        System.out.println(said);
    }

    static void refused(String servers, String group) {
        try (KafkaConsumer<String, String> reader = consumer(servers, group)) {
            reader.subscribe(new SubscriptionPattern("(" + group));
            while (true) reader.poll(TURN);
        } catch (InvalidRegularExpression error) {
            System.out.println("refused: " + error.getMessage());
        }
    }

    static void run(String servers, String group, String pattern, String there, String topic)
        throws Exception {
        TopicPartition first = new TopicPartition(there, 0);
        try (KafkaConsumer<String, String> reader = consumer(servers, group)) {
            reader.subscribe(new SubscriptionPattern(pattern));
            pollUntilAssigned(reader, Set.of(first), "the topic that is there");
            try (Admin admin = Admin.create(new Properties() {{
                put("bootstrap.servers", servers);
            }})) {
                admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            }
            Set<TopicPartition> both = Set.of(first, new TopicPartition(topic, 0));
            pollUntilAssigned(reader, both, "the new topic, too");
        }
        refused(servers, group);
    }

    public static void main(String[] arguments) {
        try {
            run(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
        } catch (Exception error) {
            error.printStackTrace(System.out);
            System.exit(1);
        }
    }
}
