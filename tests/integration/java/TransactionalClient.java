// Transactions of Apache Kafka's own client, one step per line of output.
// Arguments: bootstrap servers, transactional id, topic to read, topic to write, group.

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;

public class TransactionalClient {
    static final String STRING = "org.apache.kafka.common.serialization.String";

    final String servers;
    final String transactionalId;
    final TopicPartition source;
    final String sink;
    final String group;

    TransactionalClient(String[] arguments) {
        servers = arguments[0];
        transactionalId = arguments[1];
        source = new TopicPartition(arguments[2], 0);
        sink = arguments[3];
        group = arguments[4];
    }

    KafkaProducer<String, String> producer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", transactionalId);
        settings.put("key.serializer", STRING + "Serializer");
        settings.put("value.serializer", STRING + "Serializer");
        KafkaProducer<String, String> made = new KafkaProducer<>(settings);
        made.initTransactions();
        return made;
    }

    KafkaConsumer<String, String> consumer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("key.deserializer", STRING + "Deserializer");
        settings.put("value.deserializer", STRING + "Deserializer");
        return new KafkaConsumer<>(settings);
    }

    void write(KafkaProducer<String, String> client, String topic, String... values) {
        for (String value : values) client.send(new ProducerRecord<>(topic, 0, null, value));
    }

    void transform(KafkaProducer<String, String> client, KafkaConsumer<String, String> reader) {
        List<ConsumerRecord<String, String>> read = List.of();
        while (read.isEmpty()) read = reader.poll(Duration.ofSeconds(1)).records(source);
        client.beginTransaction();
        for (ConsumerRecord<String, String> each : read) write(client, sink, "of " + each.value());
        long next = read.get(read.size() - 1).offset() + 1;
        client.sendOffsetsToTransaction(
            Map.of(source, new OffsetAndMetadata(next)), reader.groupMetadata());
        client.commitTransaction();
    }

    void run() {
        KafkaProducer<String, String> first = producer();
        first.beginTransaction();
        write(first, source.topic(), "one", "two");
        first.commitTransaction();
        System.out.println("committed");
        first.beginTransaction();
        write(first, source.topic(), "never");
        first.abortTransaction();
        System.out.println("aborted");
        try (KafkaConsumer<String, String> reader = consumer()) {
            reader.subscribe(List.of(source.topic()));
            transform(first, reader);
        }
        System.out.println("transformed");
        first.beginTransaction();
        write(first, sink, "fenced");
        first.flush();
        KafkaProducer<String, String> second = producer();
        try {
            first.commitTransaction();
        } catch (ProducerFencedException error) {
            System.out.println("fenced");
        }
        second.beginTransaction();
        write(second, sink, "from the second");
        second.commitTransaction();
        System.out.println("committed by the second");
        second.close();
    }

    public static void main(String[] arguments) {
        try {
            new TransactionalClient(arguments).run();
        } catch (RuntimeException error) {
            error.printStackTrace(System.out);
            System.exit(1);
        }
    }
}
