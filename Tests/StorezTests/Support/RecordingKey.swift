import Storez
import TestSupport

/// The hook calls of one test, in order.
final class Recorder: Sendable {
  @TaskLocal static var current: Recorder?
  private let notes = Guarded<[String]>([])

  func note(_ text: String) { notes { $0.append(text) } }
  static func note(_ text: String) { current?.note(text) }

  var taken: [String] {
    notes { notes in
      defer { notes = [] }
      return notes
    }
  }
}

enum Recorded: Namespace {
  typealias parent = Animals
  static let id = "recorded"
  static func preCommitHook() { Recorder.note("pre") }
  static func postCommitHook() { Recorder.note("post") }
}

/// Records each call together with the stored value, read by `read`.
struct RecordingKey<V: Sendable>: KeyType, Sendable {
  typealias NamespaceType = Recorded

  var stringValue: String
  var defaultValue: V
  var read: @Sendable () -> String = { "" }
  var process: @Sendable (V) -> V = { $0 }

  func processChange(_ oldValue: V, newValue: V) -> V {
    Recorder.note("process \(oldValue) \(newValue)")
    return process(newValue)
  }

  func willChange(_ oldValue: V, newValue: V) { Recorder.note("will \(oldValue) \(newValue) \(read())") }
  func didChange(_ oldValue: V, newValue: V) { Recorder.note("did \(oldValue) \(newValue) \(read())") }
}
