// Writes messages with Apache Kafka's own classes: a line of JSON on stdin names a class, a version
// and the content, in the form of Kafka's generated converters; the bytes go to stdout in hex, one
// line each. Run by `python -m tests.golden` with the jars of one release on the class path.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class WriteVectors {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message",
        "org.apache.kafka.common.metadata",
        "org.apache.kafka.coordinator.group.generated",
        "org.apache.kafka.coordinator.transaction.generated",
        "org.apache.kafka.coordinator.share.generated",
        "org.apache.kafka.raft.generated",
        "org.apache.kafka.server.log.remote.metadata.storage.generated",
        "org.apache.kafka.storage.internals.log.generated",
        "org.apache.kafka.server.storage.log.generated",
    };

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode wanted = mapper.readTree(line);
            String name = wanted.get("class").asText();
            out.println(written(name, wanted.get("json"), (short) wanted.get("version").asInt()));
        }
    }

    private static String written(String name, JsonNode json, short version) throws Exception {
        Class<?> converter = find(name + "JsonConverter");
        if (converter == null) {
            return "no class " + name;
        }
        Message message = (Message) converter
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, json, version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return HexFormat.of().formatHex(buffer.array());
    }

    private static Class<?> find(String name) {
        for (String place : PACKAGES) {
            try {
                return Class.forName(place + "." + name);
            } catch (ClassNotFoundException absent) {
                continue;
            }
        }
        return null;
    }
}
