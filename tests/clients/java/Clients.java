import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The Java client in the report card: Clients BOOTSTRAP PREFIX ITEM... */
public final class Clients {
    static final int PARTITIONS = 6;
    static final short REPLICAS = 3;
    private static final Duration POLL = Duration.ofMillis(100);
    private static final int ABORTS_EVERY = 3;

    private final String bootstrap;
    private final String prefix;

    private Clients(String bootstrap, String prefix) {
        this.bootstrap = bootstrap;
        this.prefix = prefix;
    }

    public static void main(String[] arguments) {
        Clients clients = new Clients(arguments[0], arguments[1]);
        Map<String, Callable<String>> items = new HashMap<>();
        items.put("admin", clients::admin);
        items.put("produce", clients::produce);
        items.put("group", () -> clients.group("classic"));
        items.put("kip-848 group", () -> clients.group("consumer"));
        items.put("cooperative group", () -> Cooperative.run(clients, arguments[1]));
        items.put("transactions", clients::transactions);
        items.put("streams", () -> WordCount.run(arguments[0], arguments[1]));
        Ledger.tell("{\"version\": " + Ledger.quoted(AppInfoParser.getVersion()) + "}");
        for (int number = 2; number < arguments.length; number++) {
            String item = arguments[number];
            boolean passed = true;
            String told;
            try {
                told = items.get(item).call();
            } catch (Exception e) {
                passed = false;
                told = String.valueOf(e instanceof IllegalStateException ? e.getMessage() : e);
                e.printStackTrace();
            }
            Ledger.tell("{\"item\": " + Ledger.quoted(item) + ", \"ok\": " + passed + ", \"told\": "
                    + Ledger.quoted(told) + "}");
        }
        System.exit(0);
    }

    Admin connect() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    static void create(Admin admin, String topic) throws Exception {
        NewTopic wanted = new NewTopic(topic, PARTITIONS, REPLICAS).configs(Map.of("min.insync.replicas", "2"));
        admin.createTopics(List.of(wanted)).all().get();
    }

    private String admin() throws Exception {
        String topic = prefix + "-admin";
        Ledger ledger = new Ledger();
        try (Admin admin = connect()) {
            create(admin, topic);
            refuseToCreateTwice(admin, topic);
            configure(admin, topic, ledger);
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2 * PARTITIONS))).all().get();
            ledger.until("each partition has its replicas", () -> hasReplicas(admin, topic));
            admin.describeLogDirs(List.of(1, 2, 3)).allDescriptions().get();
            admin.describeCluster().nodes().get();
            admin.deleteTopics(List.of(topic)).all().get();
            ledger.until("the topic is gone", () -> !get(() -> admin.listTopics().names().get()).contains(topic));
        }
        return "topics, configurations, partitions, log dirs";
    }

    private static void refuseToCreateTwice(Admin admin, String topic) throws Exception {
        try {
            create(admin, topic);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof TopicExistsException)
                return;
            throw e;
        }
        throw new IllegalStateException("the topic was created twice");
    }

    private static void configure(Admin admin, String topic, Ledger ledger) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigEntry entry = new ConfigEntry("retention.ms", "1234567");
        admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET))))
                .all().get();
        ledger.until("the configuration is described as it was set", () -> {
            var described = get(() -> admin.describeConfigs(List.of(resource)).all().get()).get(resource);
            return described.get("retention.ms").value().equals("1234567")
                    && described.get("min.insync.replicas").value().equals("2");
        });
    }

    private static boolean hasReplicas(Admin admin, String topic) {
        TopicDescription found = get(() -> admin.describeTopics(List.of(topic)).allTopicNames().get()).get(topic);
        return found.partitions().size() == 2 * PARTITIONS
                && found.partitions().stream().allMatch(each -> each.replicas().size() == REPLICAS);
    }

    static <T> T get(Callable<T> asked) {
        try {
            return asked.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> configs = new HashMap<>(more);
        configs.put("bootstrap.servers", bootstrap);
        configs.put("linger.ms", 1);
        return new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(Map<String, Object> more) {
        Map<String, Object> configs = new HashMap<>(Map.of(
                "bootstrap.servers", bootstrap,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false,
                "isolation.level", "read_committed"));
        configs.putAll(more);
        return new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer());
    }

    static BiConsumer<String, String> sender(KafkaProducer<String, String> producer, String topic, Ledger ledger) {
        return (key, value) -> producer.send(new ProducerRecord<>(topic, key, value), (metadata, error) -> {
            if (error != null)
                ledger.fail(error);
        });
    }

    private void readAll(String topic, Ledger ledger) {
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            List<TopicPartition> all = new ArrayList<>();
            for (int number = 0; number < PARTITIONS; number++)
                all.add(new TopicPartition(topic, number));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            ledger.until("all is read", () -> {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL))
                    ledger.read(record.key(), record.value());
                return ledger.isRead();
            });
        }
    }

    private String produce() throws Exception {
        String topic = prefix + "-produce";
        Ledger ledger = new Ledger();
        try (Admin admin = connect()) {
            create(admin, topic);
        }
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            ledger.write(topic, sender(producer, topic, ledger));
            producer.flush();
        }
        readAll(topic, ledger);
        ledger.judge(true);
        return ledger.written() + " records, idempotent";
    }

    /** Reads a topic as one of a group until it is told to leave, and commits what it has read. */
    final class Member implements AutoCloseable, ConsumerRebalanceListener {
        final Set<TopicPartition> owned = ConcurrentHashMap.newKeySet();
        /** Whatever was taken from it; who watches clears it. */
        final Set<TopicPartition> revoked = ConcurrentHashMap.newKeySet();
        final AtomicInteger read = new AtomicInteger();
        private final Thread thread;
        private volatile boolean leaves = false;
        /** Whether it has read what it has not committed yet. */
        private boolean isBehind = false;

        Member(Map<String, Object> protocol, String groupId, String topic, Ledger ledger) {
            Map<String, Object> configs = new HashMap<>(protocol);
            configs.put("group.id", groupId);
            thread = new Thread(() -> {
                try (KafkaConsumer<String, String> consumer = consumer(configs)) {
                    consumer.subscribe(List.of(topic), this);
                    while (!leaves || isBehind)
                        poll(consumer, ledger);
                } catch (RuntimeException e) {
                    ledger.fail(e);
                }
            });
            thread.start();
        }

        private void poll(KafkaConsumer<String, String> consumer, Ledger ledger) {
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            for (ConsumerRecord<String, String> record : records)
                ledger.read(record.key(), record.value());
            isBehind |= !records.isEmpty();
            if (isBehind)
                commit(consumer);
            read.addAndGet(records.count());
        }

        /** A cooperative member is given records while it rebalances, and may commit them only after it. */
        private void commit(KafkaConsumer<String, String> consumer) {
            try {
                consumer.commitSync();
                isBehind = false;
            } catch (RebalanceInProgressException e) {
                // It stays behind until the next poll.
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            revoked.addAll(partitions);
            owned.removeAll(partitions);
        }

        @Override
        public void close() {
            leaves = true;
            get(() -> {
                thread.join();
                return true;
            });
        }
    }

    private String group(String protocolName) throws Exception {
        String topic = prefix + "-group-" + protocolName;
        String groupId = prefix + "-readers-" + protocolName;
        Map<String, Object> protocol = protocolName.equals("classic") ? Map.of() : Map.of("group.protocol", protocolName);
        Ledger ledger = new Ledger();
        try (Admin admin = connect(); KafkaProducer<String, String> producer = producer(Map.of())) {
            create(admin, topic);
            share(protocol, groupId, topic, ledger, sender(producer, topic, ledger));
            resume(protocol, groupId, topic, ledger, sender(producer, topic, ledger));
            listed(admin, groupId);
        }
        ledger.judge(false);
        return ledger.written() + " records, " + ledger.again() + " of them twice";
    }

    /** Two members read what is written meanwhile, one of them leaves. */
    private void share(Map<String, Object> protocol, String groupId, String topic, Ledger ledger, BiConsumer<String, String> send)
            throws Exception {
        Thread writing = new Thread(() -> ledger.write(topic, groupId, "", send));
        try (Member first = new Member(protocol, groupId, topic, ledger)) {
            writing.start();
            ledger.until("the first member reads", () -> first.read.get() > 0);
            try (Member second = new Member(protocol, groupId, topic, ledger)) {
                ledger.until("both share the partitions",
                        () -> first.owned.size() == PARTITIONS / 2 && second.owned.size() == PARTITIONS / 2);
                writing.join();
            }
            ledger.until("all is read", () -> ledger.isRead() && first.owned.size() == PARTITIONS);
        }
    }

    /** A new member reads what is written from now on, and nothing of what was committed. */
    private void resume(Map<String, Object> protocol, String groupId, String topic, Ledger ledger, BiConsumer<String, String> send) {
        int again = ledger.again();
        for (int count = 0; count < Ledger.HALF; count++) {
            String[] record = ledger.next();
            send.accept(record[0], record[1]);
        }
        try (Member third = new Member(protocol, groupId, topic, ledger)) {
            ledger.until("what was written last is read", ledger::isRead);
        }
        if (ledger.again() > again)
            throw new IllegalStateException(ledger.again() - again + " records were read again though committed");
    }

    static void listed(Admin admin, String groupId) throws Exception {
        boolean isListed = admin.listConsumerGroups().all().get().stream().anyMatch(each -> each.groupId().equals(groupId));
        if (!isListed)
            throw new IllegalStateException(groupId + " is not listed");
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(groupId)).all().get().get(groupId);
        if (!found.members().isEmpty())
            throw new IllegalStateException(groupId + " has members: " + found);
        if (admin.listConsumerGroupOffsets(groupId).partitionsToOffsetAndMetadata().get().size() != PARTITIONS)
            throw new IllegalStateException(groupId + " has not committed every partition");
        admin.deleteConsumerGroups(Set.of(groupId)).all().get();
    }

    private String transactions() throws Exception {
        String source = prefix + "-source";
        String sink = prefix + "-sink";
        Ledger ledger = new Ledger();
        try (Admin admin = connect()) {
            create(admin, source);
            create(admin, sink);
        }
        int aborted;
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            Thread writing = new Thread(() -> ledger.write(sink, prefix + "-transformers", prefix + "-transform",
                    sender(producer, source, ledger)));
            writing.start();
            aborted = transform(ledger, writing);
        }
        readAll(sink, ledger);
        ledger.judge(true);
        return ledger.written() + " records, " + aborted + " transactions aborted";
    }

    /** Copy source to sink, offsets and records in one transaction, and abort each third. */
    private int transform(Ledger ledger, Thread writing) {
        int copied = 0;
        int begun = 0;
        int aborted = 0;
        Map<String, Object> reading = Map.of("group.id", prefix + "-transformers", "max.poll.records", 50);
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", prefix + "-transform"));
                KafkaConsumer<String, String> consumer = consumer(reading)) {
            producer.initTransactions();
            consumer.subscribe(List.of(prefix + "-source"));
            while (writing.isAlive() || copied < ledger.written()) {
                if (ledger.hasFailed())
                    ledger.judge(false);
                ConsumerRecords<String, String> records = consumer.poll(POLL);
                if (records.isEmpty())
                    continue;
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records)
                    producer.send(new ProducerRecord<>(prefix + "-sink", record.key(), record.value()));
                producer.sendOffsetsToTransaction(behind(records), consumer.groupMetadata());
                begun++;
                if (begun % ABORTS_EVERY == 0) {
                    producer.abortTransaction();
                    aborted++;
                    back(consumer, records);
                } else {
                    producer.commitTransaction();
                    copied += records.count();
                }
            }
        }
        return aborted;
    }

    private static Map<TopicPartition, OffsetAndMetadata> behind(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> record : records)
            offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1, Optional.empty(), ""));
        return offsets;
    }

    private static void back(KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records) {
        for (TopicPartition partition : records.partitions())
            consumer.seek(partition, records.records(partition).get(0).offset());
    }
}
