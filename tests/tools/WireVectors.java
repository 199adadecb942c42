// Writes tests/data/wire_vectors.json: messages as JSON and as bytes, both made by Apache Kafka 3.9.1's own classes.
//
//   java -cp "KAFKA_LIBS/*" tests/tools/WireVectors.java > tests/data/wire_vectors.json
//
// KAFKA_LIBS holds kafka-clients-3.9.1.jar and the jackson jars of Kafka's distribution. The seed is fixed.

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class WireVectors {
    static final Random random = new Random(39);
    static final List<String> lines = new ArrayList<>();

    static void add(String name, int version, Message message, JsonNode json) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, (short) version));
        message.write(new ByteBufferAccessor(buffer), cache, (short) version);
        lines.add(String.format("{\"message\":\"%s\",\"version\":%d,\"bytes\":\"%s\",\"json\":%s}",
            name, version, HexFormat.of().formatHex(buffer.array()), json));
    }

    static int id() { return random.nextInt(5) == 0 ? Integer.MAX_VALUE - random.nextInt(9) : random.nextInt(9); }
    static int epoch() { return random.nextInt(4) - 2 + random.nextInt(2) * 100000; }
    static long brokerEpoch() { return random.nextInt(4) == 0 ? -1 : random.nextLong() >>> 1; }
    static Uuid uuid() { return random.nextInt(5) == 0 ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong()); }
    static short error() { return (short) new int[] {0, 11, 77, 3, 41, 56, -1, 107}[random.nextInt(8)]; }
    static byte bit() { return (byte) random.nextInt(2); }
    static String name() {
        return new String[] {"t", "orders.eu-1", "", "\u00fc\u20ac", "x".repeat(127), "y".repeat(249)}[random.nextInt(6)];
    }
    static List<Integer> ids() {
        List<Integer> ids = new ArrayList<>();
        for (int n = random.nextInt(4); n > 0; n--) ids.add(id());
        return ids;
    }
    interface Maker<T> { T make(); }
    static <T> List<T> some(int most, Maker<T> maker) {
        List<T> made = new ArrayList<>();
        for (int n = random.nextInt(most + 1); n > 0; n--) made.add(maker.make());
        return made;
    }

    static void leaderAndIsr(int most) {
        LeaderAndIsrRequestData q = new LeaderAndIsrRequestData()
            .setControllerId(id()).setIsKRaftController(random.nextBoolean()).setControllerEpoch(epoch())
            .setBrokerEpoch(brokerEpoch()).setType((byte) random.nextInt(3))
            .setTopicStates(some(most, () -> new LeaderAndIsrRequestData.LeaderAndIsrTopicState()
                .setTopicName(name()).setTopicId(uuid())
                .setPartitionStates(some(most, () -> new LeaderAndIsrRequestData.LeaderAndIsrPartitionState()
                    .setPartitionIndex(id()).setControllerEpoch(epoch()).setLeader(id()).setLeaderEpoch(epoch())
                    .setIsr(ids()).setPartitionEpoch(epoch()).setReplicas(ids()).setAddingReplicas(ids())
                    .setRemovingReplicas(ids()).setIsNew(random.nextBoolean()).setLeaderRecoveryState(bit())))))
            .setLiveLeaders(some(most, () -> new LeaderAndIsrRequestData.LeaderAndIsrLiveLeader()
                .setBrokerId(id()).setHostName(name()).setPort(id())));
        add("LeaderAndIsrRequest", 7, q, LeaderAndIsrRequestDataJsonConverter.write(q, (short) 7));
        LeaderAndIsrResponseData a = new LeaderAndIsrResponseData().setErrorCode(error());
        for (int n = random.nextInt(most + 1); n > 0; n--)
            a.topics().add(new LeaderAndIsrResponseData.LeaderAndIsrTopicError().setTopicId(new Uuid(n, random.nextLong()))
                .setPartitionErrors(some(most, () -> new LeaderAndIsrResponseData.LeaderAndIsrPartitionError()
                    .setPartitionIndex(id()).setErrorCode(error()))));
        add("LeaderAndIsrResponse", 7, a, LeaderAndIsrResponseDataJsonConverter.write(a, (short) 7));
    }

    static void updateMetadata(int most) {
        UpdateMetadataRequestData q = new UpdateMetadataRequestData()
            .setControllerId(id()).setIsKRaftController(random.nextBoolean()).setControllerEpoch(epoch())
            .setBrokerEpoch(brokerEpoch()).setType((byte) random.nextInt(3)) // 0: the tagged field is left out
            .setTopicStates(some(most, () -> new UpdateMetadataRequestData.UpdateMetadataTopicState()
                .setTopicName(name()).setTopicId(uuid())
                .setPartitionStates(some(most, () -> new UpdateMetadataRequestData.UpdateMetadataPartitionState()
                    .setPartitionIndex(id()).setControllerEpoch(epoch()).setLeader(random.nextInt(4) - 2)
                    .setLeaderEpoch(epoch()).setIsr(ids()).setZkVersion(epoch()).setReplicas(ids())
                    .setOfflineReplicas(ids())))))
            .setLiveBrokers(some(most, () -> new UpdateMetadataRequestData.UpdateMetadataBroker()
                .setId(id()).setRack(random.nextBoolean() ? null : name())
                .setEndpoints(some(2, () -> new UpdateMetadataRequestData.UpdateMetadataEndpoint()
                    .setPort(id()).setHost(name()).setListener("PLAINTEXT").setSecurityProtocol((short) random.nextInt(4))))));
        add("UpdateMetadataRequest", 8, q, UpdateMetadataRequestDataJsonConverter.write(q, (short) 8));
        UpdateMetadataResponseData a = new UpdateMetadataResponseData().setErrorCode(error());
        add("UpdateMetadataResponse", 8, a, UpdateMetadataResponseDataJsonConverter.write(a, (short) 8));
    }

    static void stopReplica(int most) {
        StopReplicaRequestData q = new StopReplicaRequestData()
            .setControllerId(id()).setIsKRaftController(random.nextBoolean()).setControllerEpoch(epoch())
            .setBrokerEpoch(brokerEpoch())
            .setTopicStates(some(most, () -> new StopReplicaRequestData.StopReplicaTopicState().setTopicName(name())
                .setPartitionStates(some(most, () -> new StopReplicaRequestData.StopReplicaPartitionState()
                    .setPartitionIndex(id()).setLeaderEpoch(epoch()).setDeletePartition(random.nextBoolean())))));
        add("StopReplicaRequest", 4, q, StopReplicaRequestDataJsonConverter.write(q, (short) 4));
        StopReplicaResponseData a = new StopReplicaResponseData().setErrorCode(error())
            .setPartitionErrors(some(most, () -> new StopReplicaResponseData.StopReplicaPartitionError()
                .setTopicName(name()).setPartitionIndex(id()).setErrorCode(error())));
        add("StopReplicaResponse", 4, a, StopReplicaResponseDataJsonConverter.write(a, (short) 4));
    }

    static void alterPartition(int most) {
        AlterPartitionRequestData q = new AlterPartitionRequestData().setBrokerId(id()).setBrokerEpoch(brokerEpoch())
            .setTopics(some(most, () -> new AlterPartitionRequestData.TopicData().setTopicId(uuid())
                .setPartitions(some(most, () -> new AlterPartitionRequestData.PartitionData()
                    .setPartitionIndex(id()).setLeaderEpoch(epoch()).setLeaderRecoveryState(bit()).setPartitionEpoch(epoch())
                    .setNewIsrWithEpochs(some(most, () -> new AlterPartitionRequestData.BrokerState()
                        .setBrokerId(id()).setBrokerEpoch(brokerEpoch())))))));
        add("AlterPartitionRequest", 3, q, AlterPartitionRequestDataJsonConverter.write(q, (short) 3));
        AlterPartitionResponseData a = new AlterPartitionResponseData().setThrottleTimeMs(random.nextInt(9)).setErrorCode(error())
            .setTopics(some(most, () -> new AlterPartitionResponseData.TopicData().setTopicId(uuid())
                .setPartitions(some(most, () -> new AlterPartitionResponseData.PartitionData()
                    .setPartitionIndex(id()).setErrorCode(error()).setLeaderId(id()).setLeaderEpoch(epoch()).setIsr(ids())
                    .setLeaderRecoveryState(bit()).setPartitionEpoch(epoch())))));
        add("AlterPartitionResponse", 3, a, AlterPartitionResponseDataJsonConverter.write(a, (short) 3));
    }

    static void controlledShutdown(int most) {
        ControlledShutdownRequestData q = new ControlledShutdownRequestData().setBrokerId(id()).setBrokerEpoch(brokerEpoch());
        add("ControlledShutdownRequest", 3, q, ControlledShutdownRequestDataJsonConverter.write(q, (short) 3));
        ControlledShutdownResponseData a = new ControlledShutdownResponseData().setErrorCode(error());
        for (int n = random.nextInt(most + 1); n > 0; n--)
            a.remainingPartitions().add(new ControlledShutdownResponseData.RemainingPartition()
                .setTopicName("t" + n).setPartitionIndex(id()));
        add("ControlledShutdownResponse", 3, a, ControlledShutdownResponseDataJsonConverter.write(a, (short) 3));
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

    public static void main(String[] args) {
        for (int most : new int[] {0, 1, 2, 3, 3}) {
            leaderAndIsr(most);
            updateMetadata(most);
            stopReplica(most);
            alterPartition(most);
            controlledShutdown(most);
        }
        headers();
        System.out.println("[\n" + String.join(",\n", lines) + "\n]");
    }
}
