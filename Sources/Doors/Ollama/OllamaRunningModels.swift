import ChatterdBasics

/// The models of `/api/ps`: none, because the servers decide which models they have loaded.
struct OllamaRunningModels: ModelLister {
    func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.append("{\"models\":[]}")
    }

    func append(_ model: DoorModel, to body: inout ByteBuffer) {
        append([model], to: &body)
    }
}
