import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What the clients of a release send by the consumer protocol and by the second version of
 * transactions: RecordClients BOOTSTRAP. The broker writes down what it is asked.
 */
public final class RecordClients {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long DEADLINE_MS = 120_000;

    private RecordClients() { }

    public static void main(String[] arguments) {
        Map<String, Object> bootstrap = Map.of("bootstrap.servers", arguments[0]);
        transactions(bootstrap);
        members(bootstrap);
        System.exit(0);
    }

    /** One is committed, one is aborted, one commits the offsets of a group. */
    private static void transactions(Map<String, Object> bootstrap) {
        Map<String, Object> configs = new HashMap<>(bootstrap);
        configs.putAll(Map.of("client.id", "producer", "transactional.id", "payments", "linger.ms", 0));
        try (KafkaConsumer<String, String> reader = consumer(bootstrap, "reader", "readers");
                KafkaProducer<String, String> producer =
                        new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            send(producer, 0);
            send(producer, 1);
            producer.commitTransaction();
            producer.beginTransaction();
            send(producer, 0);
            producer.abortTransaction();
            reader.subscribe(List.of("orders"));
            until(reader, () -> reader.assignment().size() == 2);
            producer.beginTransaction();
            send(producer, 1);
            producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(1)), reader.groupMetadata());
            producer.commitTransaction();
        }
    }

    private static void send(KafkaProducer<String, String> producer, int partition) {
        try {
            producer.send(new ProducerRecord<>("orders", partition, null, "value")).get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** One has both partitions and commits, another one comes and leaves, the first leaves. */
    private static void members(Map<String, Object> bootstrap) {
        try (KafkaConsumer<String, String> first = consumer(bootstrap, "first", "members")) {
            first.subscribe(List.of("orders"));
            until(first, () -> first.assignment().size() == 2);
            first.commitSync(Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(1)));
            try (KafkaConsumer<String, String> second = consumer(bootstrap, "second", "members")) {
                second.subscribe(List.of("orders"));
                until(second, () -> {
                    first.poll(POLL);
                    return second.assignment().size() == 1 && first.assignment().size() == 1;
                });
            }
            until(first, () -> first.assignment().size() == 2);
        }
    }

    private static KafkaConsumer<String, String> consumer(Map<String, Object> bootstrap, String name, String group) {
        Map<String, Object> configs = new HashMap<>(bootstrap);
        configs.putAll(Map.of("client.id", name, "group.id", group, "group.protocol", "consumer",
                "auto.offset.reset", "earliest", "enable.auto.commit", false));
        return new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
    }

    private static void until(KafkaConsumer<String, String> consumer, BooleanSupplier isReached) {
        long end = System.currentTimeMillis() + DEADLINE_MS;
        while (!isReached.getAsBoolean()) {
            if (System.currentTimeMillis() > end)
                throw new IllegalStateException("not reached");
            consumer.poll(POLL);
        }
    }
}
