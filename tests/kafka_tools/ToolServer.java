import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Kafka's tools one after the other, as the scripts would, without a JVM
 * for each.
 *
 * A line on stdin is a command in base64 words: what the tool reads from its stdin, the text at
 * which it is interrupted (empty for none), the main class, its arguments. The answer is one line
 * on stdout: the exit code, then what the tool wrote to stdout and to stderr, in base64. A tool
 * that exits stays where it is, as it would in a JVM that ends; its shutdown hooks are run.
 */
public final class ToolServer {
    private static final PrintStream ANSWERS = System.out;
    private static final int INTERRUPTED = 130;
    private static final Queue<Runnable> HOOKS = new ConcurrentLinkedQueue<>();

    private ToolServer() { }

    public static void main(String[] ignored) throws Exception {
        // Set before any tool is loaded: Scala's Console keeps the streams that it finds first.
        Switch out = new Switch();
        Switch err = new Switch();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            CompletableFuture<Integer> ended = new CompletableFuture<>();
            String[] words = Arrays.stream(line.split(" ")).map(ToolServer::decoded).toArray(String[]::new);
            ThreadGroup group = new ThreadGroup("command");
            out.restart(group, words[1], () -> ended.complete(INTERRUPTED));
            err.restart(group, "", () -> { });
            System.setIn(new ByteArrayInputStream(words[0].getBytes(StandardCharsets.UTF_8)));
            String[] arguments = Arrays.copyOfRange(words, 3, words.length);
            Runnable onReturn = words[1].isEmpty() ? () -> ended.complete(0) : () -> { };
            start(group, words[2], arguments, onReturn, ended::complete);
            int code = ended.get();
            for (Runnable hook = HOOKS.poll(); hook != null; hook = HOOKS.poll())
                hook.run();
            System.out.flush();
            System.err.flush();
            ANSWERS.println(code + " " + out.taken() + " " + err.taken());
            ANSWERS.flush();
        }
    }

    private static void start(
            ThreadGroup group, String name, String[] arguments, Runnable onReturn, IntConsumer onExit)
            throws Exception {
        Class<?> tool = Class.forName(name);
        Exit.Procedure procedure = (code, message) -> {
            onExit.accept(code);
            while (true)
                LockSupport.park();
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        Exit.setShutdownHookAdder((hook, runnable) -> HOOKS.add(runnable));
        Thread thread = new Thread(group, () -> {
            try {
                tool.getMethod("main", String[].class).invoke(null, (Object) arguments);
                onReturn.run();
            } catch (InvocationTargetException e) {
                System.err.print("Exception in thread \"main\" ");
                e.getCause().printStackTrace();
                onExit.accept(1);
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
                onExit.accept(1);
            }
        }, "main");
        thread.setDaemon(true);
        thread.start();
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8);
    }

    /**
     * An output stream whose target changes with every command; it waits for a text to pass, and
     * what threads of earlier commands still write is lost.
     */
    private static final class Switch extends OutputStream {
        private ThreadGroup writers = Thread.currentThread().getThreadGroup();
        private ByteArrayOutputStream target = new ByteArrayOutputStream();
        private String awaited = "";
        private Runnable onPassed = () -> { };

        synchronized void restart(ThreadGroup writers, String awaited, Runnable onPassed) {
            this.writers = writers;
            target = new ByteArrayOutputStream();
            this.awaited = awaited;
            this.onPassed = onPassed;
        }

        synchronized String taken() {
            return "=" + Base64.getEncoder().encodeToString(target.toByteArray());
        }

        @Override
        public synchronized void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            ThreadGroup group = Thread.currentThread().getThreadGroup();
            if (group != writers && group.getName().equals(writers.getName()))
                return;
            target.write(bytes, offset, length);
            if (!awaited.isEmpty() && target.toString(StandardCharsets.UTF_8).contains(awaited))
                onPassed.run();
        }
    }
}
