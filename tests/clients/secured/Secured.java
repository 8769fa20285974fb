import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes a record by what the properties say whose file is the argument. */
final class Secured {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    properties.load(new FileReader(args[0]));
    StringSerializer text = new StringSerializer();
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, text, text)) {
      System.out.println(producer.send(new ProducerRecord<>("orders", "hello")).get().topic() + "-0");
    }
  }
}
