// Prints what a release answers to ApiVersions, a line `key low high` per API, as the classes of the
// kafka-clients on the class path compute it: all APIs, with unstable versions off and
// nobody who takes telemetry. Run by `python -m tests.golden releases`, once per release; everything
// is looked up, as the methods' shapes changed from release to release.

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Collection;
import org.apache.kafka.common.protocol.ApiKeys;

public class WriteReleases {
    private static final String RESPONSES =
        "org.apache.kafka.common.requests.ApiVersionsResponse";

    public static void main(String[] args) throws Exception {
        Method filter = filter();
        if (filter == null) {
            printEnabled();
        } else {
            printFiltered(filter);
        }
    }

    /** Returns filterApis of the release, which there is from 2.8 on. */
    private static Method filter() throws Exception {
        for (Method method : Class.forName(RESPONSES).getMethods()) {
            boolean hasListener = Arrays.stream(method.getParameterTypes())
                .anyMatch(type -> type.getSimpleName().equals("ListenerType"));
            if (method.getName().equals("filterApis") && hasListener) {
                return method;
            }
        }
        return null;
    }

    private static void printFiltered(Method filter) throws Exception {
        Object[] values = new Object[filter.getParameterCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = value(filter.getParameterTypes()[i]);
        }
        for (Object version : (Collection<?>) filter.invoke(null, values)) {
            System.out.println(call(version, "apiKey") + " " + call(version, "minVersion")
                + " " + call(version, "maxVersion"));
        }
    }

    private static Object value(Class<?> type) throws Exception {
        if (type == boolean.class) {
            return false;
        }
        if (type.getSimpleName().equals("RecordVersion")) {
            return type.getMethod("current").invoke(null);
        }
        for (String name : new String[] {"ZK_BROKER", "BROKER"}) {
            for (Object listener : type.getEnumConstants()) {
                if (listener.toString().equals(name)) {
                    return listener;
                }
            }
        }
        throw new IllegalStateException("filterApis has a parameter " + type);
    }

    private static Object call(Object version, String name) throws Exception {
        return version.getClass().getMethod(name).invoke(version);
    }

    private static void printEnabled() throws Exception {
        for (ApiKeys api : ApiKeys.values()) {
            if (isEnabled(api)) {
                System.out.println(
                    api.id + " " + call(api, "oldestVersion") + " " + call(api, "latestVersion"));
            }
        }
    }

    private static boolean isEnabled(ApiKeys api) throws Exception {
        for (Field field : ApiKeys.class.getFields()) {
            if (field.getName().equals("isEnabled") && !Modifier.isStatic(field.getModifiers())) {
                return field.getBoolean(api);
            }
        }
        return true;
    }
}
