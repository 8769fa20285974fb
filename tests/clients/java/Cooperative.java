import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/**
 * Three members join one after the other by the cooperative-sticky assignor, and one leaves. Only what
 * goes elsewhere may be taken from a member.
 */
final class Cooperative {
    private static final int MEMBERS = 3;
    /** How many partitions go elsewhere when the members join, and when the last one leaves. */
    private static final List<Integer> MOVED = List.of(0, Clients.PARTITIONS / 2, Clients.PARTITIONS / 3, 0);
    private static final Map<String, Object> STICKY =
            Map.of("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());

    private Cooperative() { }

    static String run(Clients clients, String prefix) throws Exception {
        String topic = prefix + "-cooperative";
        Ledger ledger = new Ledger();
        List<Integer> taken = new ArrayList<>();
        List<Clients.Member> members = new ArrayList<>();
        try (Admin admin = clients.connect(); KafkaProducer<String, String> producer = clients.producer(Map.of())) {
            Clients.create(admin, topic);
            Thread writing = new Thread(() -> ledger.write(topic, topic, "", Clients.sender(producer, topic, ledger)));
            writing.start();
            try {
                for (int count = 0; count < MEMBERS; count++)
                    taken.add(change(members, ledger,
                            () -> members.add(clients.new Member(STICKY, topic, topic, ledger))));
                taken.add(change(members, ledger, () -> members.remove(MEMBERS - 1).close()));
                writing.join();
                ledger.until("all is read", ledger::isRead);
            } finally {
                members.forEach(Clients.Member::close);
            }
            Clients.listed(admin, topic);
        }
        if (!taken.equals(MOVED))
            throw new IllegalStateException(taken + " partitions were taken from members, " + MOVED + " had to move");
        ledger.judge(false);
        return ledger.written() + " records, " + taken + " partitions moved";
    }

    /** Have one join or leave; return how many partitions were taken from those that are there. */
    private static int change(List<Clients.Member> members, Ledger ledger, Runnable how) {
        Map<Clients.Member, Set<TopicPartition>> had = new HashMap<>();
        for (Clients.Member member : members) {
            member.revoked.clear();
            had.put(member, new HashSet<>(member.owned));
        }
        how.run();
        had.keySet().retainAll(members);
        int share = Clients.PARTITIONS / members.size();
        ledger.until(members.size() + " members share the partitions",
                () -> members.stream().allMatch(each -> each.owned.size() == share));
        int taken = 0;
        for (Clients.Member member : had.keySet()) {
            Set<TopicPartition> kept = had.get(member);
            kept.retainAll(member.owned);
            kept.retainAll(member.revoked);
            if (!kept.isEmpty())
                throw new IllegalStateException(kept + " were taken from a member that keeps them");
            taken += member.revoked.size();
        }
        return taken;
    }
}
