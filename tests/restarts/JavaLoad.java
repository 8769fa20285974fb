import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client as the idempotent load of the restart rounds. It says on stdout what script.py
 * tells of, and ends when its stdin does.
 */
public final class JavaLoad {
    private static final int RECORD_BYTES = 100;
    private static final int REPORT_MS = 200;
    private static final int TICK_MS = 5;

    /** One partition: what was sent to it and what became of that. */
    private static final class Place {
        final String topic;
        final int partition;
        long sent = 0;
        final AtomicLong acked = new AtomicLong();
        final Queue<Long> failed = new ConcurrentLinkedQueue<>();

        Place(String topic, int partition) {
            this.topic = topic;
            this.partition = partition;
        }
    }

    private JavaLoad() { }

    public static void main(String[] arguments) throws Exception {
        int rate = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        Place[] places = new Place[(arguments.length - 3) * partitions];
        for (int number = 0; number < places.length; number++)
            places[number] = new Place(arguments[3 + number / partitions], number % partitions);
        Map<String, AtomicLong> errors = new ConcurrentHashMap<>();
        Thread stop = new Thread(JavaLoad::readToTheEnd);
        stop.start();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(configs(arguments[0]))) {
            run(producer, places, rate, errors, stop);
            producer.flush();
        }
        tellAcked(places);
        errors.forEach((text, count) -> System.out.println("fatal " + count + " times " + text));
        for (Place place : places) {
            String failed = place.failed.stream().map(String::valueOf).collect(Collectors.joining(","));
            System.out.println("ended " + place.topic + " " + place.partition + " 0 " + place.sent + " "
                    + (failed.isEmpty() ? "-" : failed));
        }
        System.out.flush();
    }

    private static Map<String, Object> configs(String bootstrap) {
        return Map.of(
                "bootstrap.servers", bootstrap,
                "enable.idempotence", true,
                "acks", "all",
                "linger.ms", 1,
                "delivery.timeout.ms", Integer.MAX_VALUE,
                "max.block.ms", 120_000,
                "reconnect.backoff.ms", 50,
                "reconnect.backoff.max.ms", 500,
                "key.serializer", ByteArraySerializer.class,
                "value.serializer", ByteArraySerializer.class);
    }

    private static void run(
            KafkaProducer<byte[], byte[]> producer, Place[] places, int rate,
            Map<String, AtomicLong> errors, Thread stop) throws InterruptedException {
        double due = 0;
        long last = System.nanoTime();
        long reported = last;
        int turn = 0;
        while (stop.isAlive()) {
            long now = System.nanoTime();
            due = Math.min(due + (now - last) / 1e9 * rate, rate / 10.0 + 1);
            last = now;
            for (; due >= 1; due--, turn++)
                send(producer, places[turn % places.length], errors);
            if (now - reported >= REPORT_MS * 1_000_000L) {
                tellAcked(places);
                reported = now;
            }
            Thread.sleep(TICK_MS);
        }
    }

    private static void send(
            KafkaProducer<byte[], byte[]> producer, Place place, Map<String, AtomicLong> errors) {
        long number = place.sent++;
        byte[] value = new byte[RECORD_BYTES];
        Arrays.fill(value, (byte) '.');
        byte[] head = ("0:" + number + ":").getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(head, 0, value, 0, head.length);
        producer.send(new ProducerRecord<>(place.topic, place.partition, null, value), (metadata, error) -> {
            if (error == null) {
                place.acked.incrementAndGet();
                return;
            }
            place.failed.add(number);
            errors.computeIfAbsent(String.valueOf(error).replace('\n', ' '), text -> new AtomicLong())
                    .incrementAndGet();
        });
    }

    private static void tellAcked(Place[] places) {
        for (Place place : places)
            System.out.println("acked " + place.topic + " " + place.partition + " " + place.acked.get());
        System.out.flush();
    }

    private static void readToTheEnd() {
        try {
            while (System.in.read() >= 0) { }
        } catch (IOException ended) {
            System.err.println(ended);
        }
    }
}
