import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes to a topic, has a disk broken halfway, and counts what was lost: Survive SERVERS COMMAND... */
public final class Survive {
    private static final String TOPIC = "orders";
    private static final int COUNT = 2000;

    public static void main(String[] words) throws Exception {
        write(words[0], Arrays.copyOfRange(words, 1, words.length));
        System.exit(read(words[0]) ? 0 : 1);
    }

    private static void write(String servers, String[] command) throws Exception {
        // Idempotent and with acks=all, as the producer is since Kafka 3.0.
        Map<String, Object> settings = Map.of("bootstrap.servers", servers);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < COUNT; number++) {
                if (number == COUNT / 2 && new ProcessBuilder(command).inheritIO().start().waitFor() != 0)
                    throw new IllegalStateException("the disk was not broken");
                String text = String.valueOf(number);
                producer.send(new ProducerRecord<>(TOPIC, text, text), (metadata, error) -> {
                    if (error != null) {
                        System.err.println("not acknowledged: " + error);
                        Runtime.getRuntime().halt(1);
                    }
                });
            }
            producer.flush();
        }
    }

    private static boolean read(String servers) {
        Set<String> seen = new HashSet<>();
        int twice = 0;
        Map<String, Object> settings = Map.of("bootstrap.servers", servers);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var partitions = consumer.partitionsFor(TOPIC).stream()
                    .map(each -> new TopicPartition(each.topic(), each.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
            while (seen.size() < COUNT && System.nanoTime() < end)
                for (var record : consumer.poll(Duration.ofMillis(100)))
                    if (!seen.add(record.value()))
                        twice++;
        }
        System.out.printf("%d acknowledged, %d lost, %d twice%n", COUNT, COUNT - seen.size(), twice);
        return seen.size() == COUNT && twice == 0;
    }
}
