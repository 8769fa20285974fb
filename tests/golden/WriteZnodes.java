import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.ByteBufferInputStream;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.TxnLog.TxnIterator;
import org.apache.zookeeper.txn.CheckVersionTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetACLTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;

/** Prints the transactions in ZooKeeper's logs, a JSON object a line. The argument is their folder. */
public class WriteZnodes {
    public static void main(String[] args) throws Exception {
        try (TxnIterator all = new FileTxnLog(new File(args[0])).read(1)) {
            while (all.getHeader() != null) {
                print(all.getHeader(), all.getTxn());
                if (!all.next()) break;
            }
        }
    }

    private static void print(TxnHeader header, Record txn) throws Exception {
        List<String> ops = new ArrayList<>();
        if (txn instanceof MultiTxn) {
            for (Txn one : ((MultiTxn) txn).getTxns()) {
                Record record = record(one.getType());
                ByteBufferInputStream.byteBuffer2Record(java.nio.ByteBuffer.wrap(one.getData()), record);
                ops.add(op(one.getType(), record));
            }
        } else {
            ops.add(op(header.getType(), txn));
        }
        System.out.println("{\"session\":\"" + Long.toHexString(header.getClientId()) + "\",\"zxid\":" + header.getZxid()
            + ",\"ms\":" + header.getTime() + ",\"multi\":" + (txn instanceof MultiTxn)
            + ",\"ops\":[" + String.join(",", ops) + "]}");
    }

    private static Record record(int type) {
        switch (type) {
            case OpCode.create: case OpCode.create2: return new CreateTxn();
            case OpCode.delete: return new DeleteTxn();
            case OpCode.setData: return new SetDataTxn();
            case OpCode.check: return new CheckVersionTxn();
            default: return new org.apache.zookeeper.txn.ErrorTxn();
        }
    }

    private static String op(int type, Record txn) {
        if (txn instanceof CreateTxn) {
            CreateTxn create = (CreateTxn) txn;
            return "{\"op\":\"create\",\"path\":" + text(create.getPath()) + ",\"data\":" + data(create.getData())
                + ",\"ephemeral\":" + create.getEphemeral() + "}";
        } else if (txn instanceof SetDataTxn) {
            SetDataTxn set = (SetDataTxn) txn;
            return "{\"op\":\"set\",\"path\":" + text(set.getPath()) + ",\"data\":" + data(set.getData())
                + ",\"version\":" + set.getVersion() + "}";
        } else if (txn instanceof DeleteTxn) {
            return "{\"op\":\"delete\",\"path\":" + text(((DeleteTxn) txn).getPath()) + "}";
        } else if (txn instanceof CheckVersionTxn) {
            CheckVersionTxn check = (CheckVersionTxn) txn;
            return "{\"op\":\"check\",\"path\":" + text(check.getPath()) + ",\"version\":" + check.getVersion() + "}";
        } else if (txn instanceof SetACLTxn) {
            return "{\"op\":\"acl\",\"path\":" + text(((SetACLTxn) txn).getPath()) + "}";
        }
        return "{\"op\":\"" + (type == OpCode.createSession ? "open" : type == OpCode.closeSession ? "close" : "failed") + "\"}";
    }

    private static String data(byte[] data) {
        return data == null ? "null" : text(new String(data, StandardCharsets.UTF_8));
    }

    private static String text(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }
}
