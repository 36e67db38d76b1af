// The same in C#, with the package Microsoft.ML.OnnxRuntime: dotnet run LIBRARY MODEL
//
// LIBRARY is the file that `onnx-philox path onnxruntime` prints.
using System;
using System.Collections.Generic;
using Microsoft.ML.OnnxRuntime;

using var options = new SessionOptions();
options.RegisterCustomOpLibrary(args[0]);
using var session = new InferenceSession(args[1], options);
using var run = new RunOptions();
// A rewritten model has a state as an input besides: see docs/where-no-plugin-can-go.md.
var inputs = new Dictionary<string, OrtValue>();
using var outputs = session.Run(run, inputs, session.OutputNames);
foreach (float value in outputs[0].GetTensorDataAsSpan<float>())
{
    Console.Write($"{value} ");
}
