// The same in Java, with ONNX Runtime's own package: java -cp onnxruntime.jar Draw.java LIBRARY MODEL
//
// LIBRARY is the file that `onnx-philox path onnxruntime` prints.
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.util.Arrays;
import java.util.Map;

public class Draw {
  public static void main(String[] args) throws Exception {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.registerCustomOpLibrary(args[0]);
      // A rewritten model has a state as an input besides: see docs/where-no-plugin-can-go.md.
      try (OrtSession session = environment.createSession(args[1], options);
          OrtSession.Result result = session.run(Map.of())) {
        OnnxTensor values = (OnnxTensor) result.get(0);
        System.out.println("values: " + Arrays.toString(values.getFloatBuffer().array()));
      }
    }
  }
}
