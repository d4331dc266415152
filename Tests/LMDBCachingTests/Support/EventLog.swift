import Logging
import TestSupport

struct EventLog: LogHandler {
  struct Event: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata
  }

  final class Events: Sendable {
    private let all = Guarded<[Event]>([])
    var current: [Event] { all.current }
    func append(_ event: Event) { all { $0.append(event) } }
  }

  let events: Events
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  static func logger(_ events: Events) -> Logger { Logger(label: "test", factory: { _ in EventLog(events: events) }) }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    events.append(Event(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
  }
}
