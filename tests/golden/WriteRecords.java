// Writes batches and message sets with Apache Kafka's MemoryRecordsBuilder: a line of JSON on stdin
// has the fields of one batch and its records; its bytes go to stdout in hex, one line each, once
// Kafka found them valid. Run by `python -m tests.golden records` with the jars on the class path.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.DefaultRecordBatch;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

public class WriteRecords {
    private static final int SIZE_BYTES_MAX = 1 << 20;

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode wanted = mapper.readTree(line);
            boolean isEmpty = wanted.get("records").isEmpty();
            ByteBuffer bytes = isEmpty ? empty(wanted) : written(wanted);
            for (RecordBatch batch : MemoryRecords.readableRecords(bytes.duplicate()).batches()) {
                batch.ensureValid();
            }
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            System.out.println(HexFormat.of().formatHex(copy));
        }
    }

    private static ByteBuffer written(JsonNode wanted) throws IOException {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(SIZE_BYTES_MAX),
            (byte) wanted.get("magic").asInt(),
            Compression.of(wanted.get("compression").asText()).build(),
            timestampType(wanted),
            wanted.get("baseOffset").asLong(),
            wanted.get("maxTimestamp").asLong(),
            orNone(wanted, "producerId"),
            (short) orNone(wanted, "producerEpoch"),
            (int) orNone(wanted, "baseSequence"),
            wanted.get("isTransactional").asBoolean(),
            wanted.get("isControl").asBoolean(),
            (int) orNone(wanted, "partitionLeaderEpoch"),
            SIZE_BYTES_MAX,
            orNone(wanted, "deleteHorizonMs"));
        for (JsonNode record : wanted.get("records")) {
            long offset = record.get("offset").asLong();
            if (wanted.get("isControl").asBoolean()) {
                builder.appendControlRecordWithOffset(offset, simple(record));
            } else {
                builder.appendWithOffset(offset, simple(record));
            }
        }
        if (wanted.get("magic").asInt() == 2) {
            builder.overrideLastOffset(wanted.get("lastOffset").asLong());
        }
        return builder.build().buffer();
    }

    /** What compaction leaves of a batch whose records are all gone. */
    private static ByteBuffer empty(JsonNode wanted) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(
            buffer,
            (byte) wanted.get("magic").asInt(),
            orNone(wanted, "producerId"),
            (short) orNone(wanted, "producerEpoch"),
            (int) orNone(wanted, "baseSequence"),
            wanted.get("baseOffset").asLong(),
            wanted.get("lastOffset").asLong(),
            (int) orNone(wanted, "partitionLeaderEpoch"),
            timestampType(wanted),
            wanted.get("maxTimestamp").asLong(),
            wanted.get("isTransactional").asBoolean(),
            wanted.get("isControl").asBoolean());
        buffer.flip();
        return buffer;
    }

    private static TimestampType timestampType(JsonNode wanted) {
        if (wanted.get("magic").asInt() == 0) {
            return TimestampType.NO_TIMESTAMP_TYPE;
        }
        return TimestampType.forName(wanted.get("timestampType").asText());
    }

    private static long orNone(JsonNode wanted, String name) {
        return wanted.hasNonNull(name) ? wanted.get(name).asLong() : -1;
    }

    private static SimpleRecord simple(JsonNode record) {
        JsonNode pairs = record.get("headers");
        Header[] headers = new Header[pairs.size()];
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new RecordHeader(pairs.get(i).get(0).asText(), bytes(pairs.get(i).get(1)));
        }
        return new SimpleRecord(
            record.get("timestamp").asLong(),
            bytes(record.get("key_hex")),
            bytes(record.get("value_hex")),
            headers);
    }

    private static byte[] bytes(JsonNode hex) {
        return hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
    }
}
