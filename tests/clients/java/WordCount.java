import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Kafka Streams with exactly_once_v2: it counts words through a repartition topic and a state store
 * whose changelog is compacted. Each count of each word must come once, in order, to the last.
 */
final class WordCount {
    private static final String APPLICATION = "-word-count";

    private WordCount() { }

    static String run(String bootstrap, String prefix) throws Exception {
        String lines = prefix + "-lines";
        String counts = prefix + "-counts";
        Ledger ledger = new Ledger();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            Clients.create(admin, lines);
            Clients.create(admin, counts);
        }
        Path state = Files.createTempDirectory("jbodlab-streams");
        AtomicReference<Throwable> failed = new AtomicReference<>();
        try (KafkaStreams streams = new KafkaStreams(topology(lines, counts).build(), configs(bootstrap, prefix, state))) {
            streams.setUncaughtExceptionHandler(error -> {
                failed.set(error);
                ledger.fail(error);
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            write(bootstrap, lines, counts, prefix + APPLICATION, ledger);
            read(bootstrap, counts, ledger);
            streams.close(Duration.ofSeconds(30));
        }
        ledger.judge(true);
        return ledger.written() + " words, " + Ledger.KEYS + " different ones";
    }

    private static StreamsBuilder topology(String lines, String counts) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(lines, Consumed.with(Serdes.String(), Serdes.String()))
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count()
                .toStream()
                .to(counts, Produced.with(Serdes.String(), Serdes.Long()));
        return builder;
    }

    private static Properties configs(String bootstrap, String prefix, Path state) {
        Properties configs = new Properties();
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, prefix + APPLICATION);
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        configs.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, (int) Clients.REPLICAS);
        configs.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        configs.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        configs.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        configs.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        configs.put("auto.offset.reset", "earliest");
        return configs;
    }

    /** Write lines of a word each: the key of the ledger is the word. */
    private static void write(String bootstrap, String lines, String counts, String groupId, Ledger ledger) {
        Map<String, Object> configs = Map.of("bootstrap.servers", bootstrap, "linger.ms", 1);
        try (var producer = new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer())) {
            var send = Clients.sender(producer, lines, ledger);
            ledger.write(counts, groupId, "", (word, number) -> send.accept(number, word));
        }
    }

    /** Read all counts: the n-th of a word says n. */
    private static void read(String bootstrap, String counts, Ledger ledger) {
        Map<String, Object> configs = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrap, "isolation.level", "read_committed", "enable.auto.commit", false));
        try (var consumer = new KafkaConsumer<>(configs, new StringDeserializer(), new LongDeserializer())) {
            List<TopicPartition> all = new ArrayList<>();
            for (int number = 0; number < Clients.PARTITIONS; number++)
                all.add(new TopicPartition(counts, number));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            ledger.until("all counts are read", () -> {
                for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(100)))
                    ledger.read(record.key(), String.valueOf(record.value() - 1));
                return ledger.isRead();
            });
        }
    }
}
