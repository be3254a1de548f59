package versioned.spark.protocol;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.AnnotatedClass;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.jsontype.NamedType;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import versioned.spark.protocol.Message.Nullable;
import versioned.spark.protocol.Message.Variant;

/** Messages to JSON and back, checked member by member. */
public final class Codec {
    private static final PropertyNamingStrategies.SnakeCaseStrategy NAMES = new PropertyNamingStrategies.SnakeCaseStrategy();
    private static final ObjectMapper JSON = JsonMapper.builder()
        .annotationIntrospector(new Members())
        .addModule(new SimpleModule()
            .addSerializer(DataType.class, new TypeWriter())
            .addSerializer(byte[].class, new BytesWriter())
            .addDeserializer(byte[].class, new BytesReader())
            .addDeserializer(DataType.class, new TypeReader<>(DataType.class))
            .addDeserializer(StructType.class, new TypeReader<>(StructType.class)))
        .propertyNamingStrategy(NAMES)
        .visibility(PropertyAccessor.GETTER, Visibility.NONE)
        .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
        .visibility(PropertyAccessor.FIELD, Visibility.ANY)
        .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES, DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES,
            DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .withCoercionConfig(LogicalType.Textual, texts -> Stream.of(CoercionInputShape.Boolean, CoercionInputShape.Float,
            CoercionInputShape.Integer).forEach(shape -> texts.setCoercion(shape, CoercionAction.Fail)))
        .build();

    private static final String ATTACHMENTS = "attachments";

    private Codec() {}

    /** The name of a message in JSON: {@code PlanScan} is {@code plan_scan}. */
    public static String nameOf(Class<?> message) {
        return NAMES.translate(message.getSimpleName());
    }

    /** JSON that Python sent. */
    public static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("Python's response is not JSON", e);
        }
    }

    /** A message without bytes as JSON. No list: its elements would lose their kinds, since Java erases their common type. */
    public static String text(Record message) {
        return text(message, null);
    }

    /** A message as JSON, which has the indexes of bytes that are added to a list. */
    public static String text(Record message, List<byte[]> attachments) {
        try {
            return JSON.writer().withAttribute(ATTACHMENTS, attachments).writeValueAsString(message);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * A message from JSON.
     *
     * @param attachments the bytes of which the JSON has the indexes
     * @param what the message in errors
     * @throws IllegalStateException if a member is missing, unknown or of another type
     */
    public static <T> T parse(JsonNode json, Class<T> message, List<byte[]> attachments, String what) {
        try {
            return JSON.reader().withAttribute(ATTACHMENTS, attachments).treeToValue(json, message);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(what + ": " + problem(e) + "; the jar and pyspark_versioned must come from "
                + "one release: use the jar that pyspark_versioned.jar_path() names", e);
        }
    }

    private static String problem(JsonProcessingException error) {
        if (!(error instanceof JsonMappingException mismatch)) {
            return error.getOriginalMessage();
        }
        String path = mismatch.getPath().stream()
            .map(step -> step.getFieldName() == null ? "[" + step.getIndex() + "]" : "." + step.getFieldName())
            .collect(Collectors.joining());
        String member = "the member " + (path.startsWith(".") ? path.substring(1) : path);
        return error instanceof UnrecognizedPropertyException ? member + " is unknown"
            : member + " does not fit: " + error.getOriginalMessage();
    }

    /** What Jackson knows of a message beside its record. */
    private static final class Members extends JacksonAnnotationIntrospector {
        @Override
        public JsonSetter.Value findSetterInfo(Annotated member) {
            boolean nullable = member.hasAnnotation(Nullable.class) || member.getRawType() == JsonNode.class;
            return JsonSetter.Value.forValueNulls(nullable ? Nulls.SET : Nulls.FAIL);
        }

        @Override
        public List<NamedType> findSubtypes(Annotated type) {
            Class<?>[] permitted = type.getRawType().getPermittedSubclasses();
            return permitted == null ? null : Stream.of(permitted).map(one -> new NamedType(one, nameOf(one))).toList();
        }

        @Override
        public String findTypeName(AnnotatedClass type) {
            return Variant.class.isAssignableFrom(type.getRawType()) ? nameOf(type.getRawType()) : null;
        }
    }

    private static final class TypeWriter extends JsonSerializer<DataType> {
        @Override
        public void serialize(DataType type, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeRawValue(type.json());
        }
    }

    private static final class BytesWriter extends JsonSerializer<byte[]> {
        @Override
        @SuppressWarnings("unchecked")
        public void serialize(byte[] bytes, JsonGenerator out, SerializerProvider provider) throws IOException {
            List<byte[]> attachments = (List<byte[]>) provider.getAttribute(ATTACHMENTS);
            out.writeNumber(attachments.size());
            attachments.add(bytes);
        }
    }

    private static final class BytesReader extends JsonDeserializer<byte[]> {
        @Override
        public byte[] deserialize(JsonParser in, DeserializationContext context) throws IOException {
            List<?> attachments = (List<?>) context.getAttribute(ATTACHMENTS);
            int index = in.currentToken() == JsonToken.VALUE_NUMBER_INT ? in.getIntValue() : -1;
            return index >= 0 && index < attachments.size() ? (byte[]) attachments.get(index)
                : context.reportInputMismatch(byte[].class, "it must be the index of an attachment");
        }
    }

    private static final class TypeReader<T extends DataType> extends JsonDeserializer<T> {
        // Spark parses a type in microseconds, and most columns of a wide table have one of a few types.
        private static final Map<String, DataType> NAMED = new ConcurrentHashMap<>();

        private final Class<T> wanted;

        TypeReader(Class<T> wanted) {
            this.wanted = wanted;
        }

        @Override
        public T deserialize(JsonParser in, DeserializationContext context) throws IOException {
            JsonNode json = in.readValueAsTree();
            return wanted.cast(json.isTextual() ? NAMED.computeIfAbsent(json.toString(), DataType::fromJson)
                : DataType.fromJson(json.toString()));
        }
    }
}
