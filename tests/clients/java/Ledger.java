import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;

/**
 * Numbered records per key, and what was read held against what was written; the same rules as in
 * ../go/ledger. Any thread may call it.
 */
final class Ledger {
    static final int KEYS = 12;
    static final int HALF = 600;
    static final int PACE_MS = 1;
    static final int DEADLINE_MS = 120_000;
    private static final BufferedReader ANSWERS =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private final int[] written = new int[KEYS];
    private final int[] seen = new int[KEYS];
    private final List<String> errors = new ArrayList<>();
    private int again = 0;

    /** Give a number of text for key and value of the next record. */
    synchronized String[] next() {
        int key = written() % KEYS;
        return new String[] {String.valueOf(key), String.valueOf(written[key]++)};
    }

    synchronized int written() {
        return Arrays.stream(written).sum();
    }

    synchronized int[] counts() {
        return written.clone();
    }

    synchronized int again() {
        return again;
    }

    synchronized boolean isRead() {
        return Arrays.equals(written, seen);
    }

    synchronized boolean hasFailed() {
        return !errors.isEmpty();
    }

    synchronized void read(String keyText, String valueText) {
        int key = Integer.parseInt(keyText);
        int number = Integer.parseInt(valueText);
        if (number < seen[key])
            again++;
        else if (number > seen[key])
            errors.add("key " + key + ": " + number + " came before " + seen[key]);
        else
            seen[key]++;
    }

    synchronized void fail(Throwable error) {
        errors.add(error.toString());
    }

    synchronized void judge(boolean exactly) {
        if (!errors.isEmpty())
            throw new IllegalStateException(errors.size() + " errors, the first: " + errors.get(0));
        if (!isRead())
            throw new IllegalStateException("records are lost: " + Arrays.toString(written) + Arrays.toString(seen));
        if (exactly && again > 0)
            throw new IllegalStateException(again + " records are there twice");
    }

    void write(String topic, BiConsumer<String, String> send) {
        write(topic, "", "", send);
    }

    /**
     * Send HALF records, then until a disk is dealt with, and HALF more. The group reads them meanwhile,
     * the transactional id copies them to the topic; either may be empty.
     */
    void write(String topic, String groupId, String transactionalId, BiConsumer<String, String> send) {
        for (int count = 0; count < HALF; count++)
            one(send);
        tell("{\"halfway\": " + quoted(topic) + ", \"group\": " + quoted(groupId) + ", \"transactional_id\": "
                + quoted(transactionalId) + "}");
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> {
            try {
                ANSWERS.readLine();
            } catch (IOException e) {
                fail(e);
            }
        });
        while (!done.isDone())
            one(send);
        for (int count = 0; count < HALF; count++)
            one(send);
    }

    private void one(BiConsumer<String, String> send) {
        String[] record = next();
        send.accept(record[0], record[1]);
        pause(PACE_MS);
    }

    /** Wait for a condition; an error that the application got meanwhile ends the waiting. */
    void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + DEADLINE_MS * 1_000_000L;
        while (!condition.getAsBoolean()) {
            if (hasFailed())
                judge(false);
            if (System.nanoTime() > end)
                throw new IllegalStateException("not so after " + DEADLINE_MS / 1000 + " s: " + what);
            pause(20);
        }
    }

    static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static synchronized void tell(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char each : text.toCharArray())
            made.append(each < ' ' ? " " : each == '"' || each == '\\' ? "\\" + each : String.valueOf(each));
        return made.append('"').toString();
    }
}
