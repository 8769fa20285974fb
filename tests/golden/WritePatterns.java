// Matches topic names with RE2/J, as Apache Kafka's group coordinator does: a line of JSON on stdin
// has a pattern and names; the names that it matches as a whole go to stdout as a line of JSON, or
// null where it is no pattern. Run by `python -m tests.golden patterns`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

public class WritePatterns {
    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(mapper.writeValueAsString(matched(mapper.readTree(line))));
        }
    }

    private static List<String> matched(JsonNode asked) {
        Pattern pattern;
        try {
            pattern = Pattern.compile(asked.get("pattern").asText());
        } catch (PatternSyntaxException refused) {
            return null;
        }
        List<String> found = new ArrayList<>();
        for (JsonNode name : asked.get("topics")) {
            if (pattern.matcher(name.asText()).matches()) {
                found.add(name.asText());
            }
        }
        return found;
    }
}
