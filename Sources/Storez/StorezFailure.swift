public import Foundation
import Logging
import Synchronization

/// A value that could not be read or written.
public struct StorezFailure: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The value cannot be turned into what the store takes. What was stored is unchanged.
    public static let encoding = Code("encoding")
    /// Something is stored that cannot be read as the key's type. It is kept.
    public static let decoding = Code("decoding")
    /// The store could not read, write or remove. What was stored is unchanged, unless it was damaged: ``underlying``
    /// tells.
    public static let storage = Code("storage")
  }

  public var code: Code
  /// The key's name; empty where all keys are concerned.
  public var key: String
  /// What happened, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, key: String, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.key = key
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

final class FailureReporter: Sendable {
  typealias Handler = @Sendable (StorezFailure) -> Void

  private struct State {
    var handler: Handler?
    /// A failure found when the store was made, before a handler was set.
    var early: StorezFailure?
    /// The UTF-8 of keys whose unreadable values were reported.
    var unreadable: Set<[UInt8]> = []
  }

  private static let maximumUnreadable = 1_024
  private static let logger = Logger(label: "storez")

  private let state = Mutex(State())

  var handler: Handler? {
    get { state.withLock { $0.handler } }
    set {
      let (old, early) = state.withLock { state -> (Handler?, StorezFailure?) in
        let old = state.handler
        state.handler = newValue
        guard newValue != nil else { return (old, nil) }
        defer { state.early = nil }
        return (old, state.early)
      }
      // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
      withExtendedLifetime(old) {}
      if let early { newValue?(early) }
    }
  }

  /// Logs a failure found when the store was made, and keeps it for the first handler.
  func reportEarly(_ failure: StorezFailure) {
    state.withLock { $0.early = failure }
    log(failure)
  }

  private func log(_ failure: StorezFailure) {
    Self.logger.warning("\(failure.message)", metadata: ["key": "\(failure.key)", "failure": "\(failure)"])
  }

  /// - Parameters:
  ///   - isFromReading: Whether reading may repeat it: then it is reported once, until the key is set.
  ///   - isOutcome: Whether it makes the running call fail.
  func report(_ failure: StorezFailure, isFromReading: Bool = false, isOutcome: Bool = true) {
    if isOutcome, let collector = FailureCollector.current {
      collector.note(failure)
      return
    }
    let (isNew, handler) = state.withLock { state in
      guard isFromReading else { return (true, state.handler) }
      if state.unreadable.count >= Self.maximumUnreadable { state.unreadable = [] }
      return (state.unreadable.insert(Array(failure.key.utf8)).inserted, state.handler)
    }
    if !isNew { return }
    if let handler { return handler(failure) }
    log(failure)
  }

  func didWrite(_ key: String) {
    state.withLock { state in
      if !state.unreadable.isEmpty { state.unreadable.remove(Array(key.utf8)) }
    }
  }
}

/// Collects the failures of one call of `throwing(_:)`.
final class FailureCollector: Sendable {
  @TaskLocal static var current: FailureCollector?

  private let first = Mutex<StorezFailure?>(nil)

  func note(_ failure: StorezFailure) { first.withLock { $0 = $0 ?? failure } }

  var failure: StorezFailure? { first.withLock { $0 } }
}

/// Why a value cannot be converted; becomes a ``StorezFailure``.
struct ConversionError: LocalizedError, CustomStringConvertible {
  let description: String
  var errorDescription: String? { description }

  init(_ description: String) { self.description = description }

  static func innerNil(_ type: Any.Type) -> ConversionError {
    ConversionError("The inner nil of a \(type) cannot be told from the outer one. Use another type, or set nil.")
  }

  static func notEncoded(_ type: Any.Type, _ function: String) -> ConversionError {
    ConversionError("\(type).\(function) is nil; return what is to be stored.")
  }

  static func notDecoded(_ type: Any.Type, _ stored: Any) -> ConversionError {
    ConversionError("It is a \(Swift.type(of: stored)), of which \(type) cannot be made.")
  }
}
