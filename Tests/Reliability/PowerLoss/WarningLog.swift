import Logging
import TestSupport

struct WarningLog: LogHandler {
  let messages: Guarded<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.warning

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  init(messages: Guarded<[String]>) { self.messages = messages }

  func log(event: LogEvent) { messages { $0.append("\(event.message)") } }
}
