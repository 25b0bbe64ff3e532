// swift-format-ignore-file
import ChatterSwiftAI

/// The model of this device, or another one if that is unavailable.
package func modelOfBlock3() -> any LLM {
// Printed:
// Choose your model based on availability
let llm: any LLM = {
  let systemLLM = SystemLLM()
  return systemLLM.isAvailable ? systemLLM : OpenaiLLM(apiKey: "your-api-key")
}()
// End.
    return llm
}
