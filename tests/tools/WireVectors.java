// Writes tests/data/wire_vectors.json: messages as JSON and as bytes, both made by Apache Kafka 3.9.1's own classes.
//
//   java -cp "KAFKA_LIBS/*" tests/tools/WireVectors.java pytest_kcontroller/wire/schemas > tests/data/wire_vectors.json
//
// KAFKA_LIBS holds kafka-clients-3.9.1.jar and the jackson jars of Kafka's distribution. The seed is fixed.
//
// What is in the messages is drawn by our schemas, for each message in each version that they name. Kafka's classes miss a
// field that is not in them, and do not write one that is too much: so this holds the schemas to Kafka's own.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.ShortNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.RequestHeaderDataJsonConverter;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.message.ResponseHeaderDataJsonConverter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class WireVectors {
    static final int[] MOST = {1, 2, 3}; // so many entries at most in each array: one message for each number
    static final Random random = new Random(39);
    static final List<String> lines = new ArrayList<>();
    static final Map<String, JsonNode> structs = new HashMap<>(); // of the schema that is drawn from

    static void add(String name, int version, Message message, JsonNode json) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, (short) version));
        message.write(new ByteBufferAccessor(buffer), cache, (short) version);
        lines.add(String.format("{\"message\":\"%s\",\"version\":%d,\"bytes\":\"%s\",\"json\":%s}",
            name, version, HexFormat.of().formatHex(buffer.array()), json));
    }

    static boolean has(JsonNode field, String key, int version) {
        if (!field.has(key)) return false;
        String text = field.get(key).asText();
        String[] ends = text.replace("+", "").split("-");
        int first = Integer.parseInt(ends[0]);
        int last = text.endsWith("+") ? Short.MAX_VALUE : Integer.parseInt(ends[ends.length - 1]);
        return first <= version && version <= last;
    }

    /** Kafka's name of a field: two of ours differ, since the class of a message has attributes of those names. */
    static String key(String name) {
        if (name.equals("RequestType")) return "type";
        return (Character.toLowerCase(name.charAt(0)) + name.substring(1)).replace("Kraft", "KRaft");
    }

    /** A struct that two fields have in common is in place in one of them. */
    static void remember(JsonNode content) {
        for (JsonNode field : content.get("fields"))
            if (field.has("fields")) {
                structs.put(field.get("type").asText().replace("[]", ""), field.get("fields"));
                remember(field);
            }
    }

    static ObjectNode struct(JsonNode fields, int version, int most) {
        ObjectNode made = JsonNodeFactory.instance.objectNode();
        for (JsonNode field : fields) {
            if (!has(field, "versions", version)) continue;
            if (has(field, "taggedVersions", version) && random.nextBoolean()) continue;
            made.set(key(field.get("name").asText()), value(field, version, most));
        }
        return made;
    }

    static JsonNode value(JsonNode field, int version, int most) {
        if (has(field, "nullableVersions", version) && random.nextInt(4) == 0) return NullNode.instance;
        String type = field.get("type").asText();
        if (!type.startsWith("[]")) return scalar(type);
        JsonNode inner = structs.get(type = type.substring(2));
        ArrayNode made = JsonNodeFactory.instance.arrayNode();
        for (int n = random.nextInt(most + 1); n > 0; n--)
            made.add(inner != null ? struct(inner, version, most) : scalar(type));
        return made;
    }

    static JsonNode scalar(String type) {
        switch (type) {
            case "bool": return BooleanNode.valueOf(random.nextBoolean());
            case "int8": return new ShortNode((short) (random.nextInt(4) - 1));
            case "int16": return new ShortNode((short) new int[] {0, 11, 77, 3, -1, 107, 32767}[random.nextInt(7)]);
            case "uint16": return new IntNode(random.nextInt(0x10000));
            case "int32": return new IntNode(
                random.nextInt(5) == 0 ? Integer.MAX_VALUE - random.nextInt(9) : random.nextInt(12) - 2);
            case "int64": return new LongNode(random.nextInt(4) == 0 ? -1 : random.nextLong() >>> 1);
            case "uuid": return new TextNode(
                (random.nextInt(5) == 0 ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong())).toString());
            case "string": return new TextNode(
                new String[] {"t", "orders.eu-1", "", "\u00fc\u20ac", "x".repeat(127), "y".repeat(249)}[random.nextInt(6)]);
            default: throw new IllegalArgumentException("teach this program the type " + type);
        }
    }

    static void message(JsonNode schema, int version, int most) throws ReflectiveOperationException {
        String name = schema.get("name").asText();
        Class<?> data = Class.forName("org.apache.kafka.common.message." + name + "Data");
        Class<?> converter = Class.forName("org.apache.kafka.common.message." + name + "DataJsonConverter");
        Message made = (Message) converter.getMethod("read", JsonNode.class, short.class)
            .invoke(null, struct(schema.get("fields"), version, most), (short) version);
        JsonNode json = (JsonNode) converter.getMethod("write", data, short.class).invoke(null, made, (short) version);
        add(name, version, made, json);
    }

    static void headers() {
        for (String client : new String[] {"kcontroller", "", null, "z".repeat(200)}) {
            RequestHeaderData q = new RequestHeaderData().setRequestApiKey((short) 4).setRequestApiVersion((short) 7)
                .setCorrelationId(random.nextInt()).setClientId(client);
            add("RequestHeader", 2, q, RequestHeaderDataJsonConverter.write(q, (short) 2));
            ResponseHeaderData a = new ResponseHeaderData().setCorrelationId(random.nextInt());
            add("ResponseHeader", 1, a, ResponseHeaderDataJsonConverter.write(a, (short) 1));
        }
    }

    public static void main(String[] args) throws Exception {
        File[] files = new File(args[0]).listFiles((folder, name) -> name.endsWith(".json"));
        Arrays.sort(files);
        for (File file : files) {
            JsonNode schema = new ObjectMapper().readTree(Files.readString(file.toPath()));
            structs.clear();
            remember(schema);
            String[] ends = schema.get("validVersions").asText().split("-");
            for (int version = Integer.parseInt(ends[0]); version <= Integer.parseInt(ends[ends.length - 1]); version++)
                for (int most : MOST) message(schema, version, most);
        }
        headers();
        System.out.println("[\n" + String.join(",\n", lines) + "\n]");
    }
}
