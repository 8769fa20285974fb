import java.io.ByteArrayOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Kafka's tools one after the other, as the scripts would, without a JVM
 * for each.
 *
 * A line on stdin is a command: base64 words, the main class first. The answer is one line on
 * stdout: the exit code, then what the tool wrote to stdout and to stderr, in base64. A tool that
 * exits stays where it is, as it would in a JVM that ends.
 */
public final class ToolServer {
    private static final PrintStream ANSWERS = System.out;

    private ToolServer() { }

    public static void main(String[] ignored) throws Exception {
        // Set before any tool is loaded: Scala's Console keeps the streams that it finds first.
        Switch out = new Switch();
        Switch err = new Switch();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            out.restart();
            err.restart();
            int code = run(line.split(" "));
            System.out.flush();
            System.err.flush();
            ANSWERS.println(code + " " + out.taken() + " " + err.taken());
            ANSWERS.flush();
        }
    }

    private static int run(String[] words) throws Exception {
        String[] arguments = new String[words.length - 1];
        for (int i = 1; i < words.length; i++)
            arguments[i - 1] = decoded(words[i]);
        Class<?> tool = Class.forName(decoded(words[0]));
        CompletableFuture<Integer> ended = new CompletableFuture<>();
        Exit.Procedure procedure = (code, message) -> {
            ended.complete(code);
            while (true)
                LockSupport.park();
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        Thread thread = new Thread(() -> {
            try {
                tool.getMethod("main", String[].class).invoke(null, (Object) arguments);
                ended.complete(0);
            } catch (InvocationTargetException e) {
                System.err.print("Exception in thread \"main\" ");
                e.getCause().printStackTrace();
                ended.complete(1);
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
                ended.complete(1);
            }
        }, "main");
        thread.setDaemon(true);
        thread.start();
        return ended.get();
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8);
    }

    /** An output stream whose target changes with every command. */
    private static final class Switch extends OutputStream {
        private ByteArrayOutputStream target = new ByteArrayOutputStream();

        synchronized void restart() {
            target = new ByteArrayOutputStream();
        }

        synchronized String taken() {
            return "=" + Base64.getEncoder().encodeToString(target.toByteArray());
        }

        @Override
        public synchronized void write(int b) {
            target.write(b);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
            target.write(bytes, offset, length);
        }
    }
}
