public import Foundation
import Synchronization

/// A failed read or write, as every container reports it.
public struct EFStorageFailure: LocalizedError, Sendable {
  /// The operation that failed.
  public enum Kind: Sendable {
    /// The content could not be converted for the storage. Nothing was written.
    case conversion
    /// The storage could not write or remove it. The old content stays.
    case storage
    /// The stored content cannot be read as its type. It is kept.
    case loading
    /// The storage was damaged. The content is lost, or an older state was restored: see
    /// ``EFStorageFailure/underlying``.
    case loss
  }

  public let kind: Kind
  /// The kind, under the name that other errors of this package use.
  public var code: Kind { kind }
  public let key: String
  /// The names of the storage's and the content's types.
  public let storageType: String
  public let contentType: String
  /// The cause.
  public let underlying: any Error

  public init(_ kind: Kind, key: String, storage: Any.Type, content: Any.Type, underlying: any Error) {
    self.kind = kind
    self.key = key
    storageType = "\((storage as? any OptionalStorage.Type)?.storageType ?? storage)"
    contentType = "\(content)"
    self.underlying = underlying
  }
}

/// An optional storage is named like its wrapped type.
private protocol OptionalStorage {
  static var storageType: Any.Type { get }
}

extension Optional: OptionalStorage {
  static var storageType: Any.Type { Wrapped.self }
}

package protocol WholeStorageError: Error {}

extension EFStorageFailure: CustomStringConvertible {
  /// The failure, the content, and the remedy.
  public var message: String {
    switch kind {
    case .storage where underlying is any WholeStorageError:
      "\(storageType) cannot be written. Changes are kept in memory, and are written once that succeeds."
    case .loss where underlying is any WholeStorageError: "\(storageType) was damaged. Set what is needed again."
    case .conversion:
      "A \(contentType) cannot be stored in \(storageType) under \"\(key)\", which is unchanged. Set a value that can be."
    case .storage: "\(storageType) was not changed under \"\(key)\". Set it again when the storage works."
    case .loading:
      "What \(storageType) has under \"\(key)\" cannot be read as \(contentType); it is kept. Set or remove it, or read it "
        + "as what it is."
    case .loss:
      "\(storageType) was damaged, with what it had under \"\(key)\", if it had anything. Set what is needed again."
    }
  }

  public var errorDescription: String? { message }
  public var description: String { "\(kind): \(message) (\(underlying))" }
}

extension EFStorageFailure {
  /// Calls `body` for every failure of any container in this process, until the observation is cancelled or released.
  /// It runs on the reading or writing thread, before the access returns, without a lock.
  public static func observe(_ body: @escaping @Sendable (EFStorageFailure) -> Void) -> Observation {
    let observation = Observation(body)
    observers.withLock { $0[ObjectIdentifier(observation)] = body }
    return observation
  }

  /// Whether a failed conversion, most likely a programming error, stops a debug build. True by default; ignored in a
  /// release build of this package.
  public static var trapsOnConversionFailureInDebugBuilds: Bool {
    get { traps.load(ordering: .relaxed) }
    set { traps.store(newValue, ordering: .relaxed) }
  }

  /// Notifies the observers. Containers call it before their reference's hook.
  public func report() {
    // Each is looked up just before its call, since another may have cancelled it.
    let identifiers = Self.observers.withLock { Array($0.keys) }
    for identifier in identifiers {
      let body = Self.observers.withLock { $0[identifier] }
      body?(self)
    }
  }

  /// The default of the containers' hooks: writes a line to the standard error, and stops a debug build at a failed
  /// conversion.
  public func reportByDefault() {
    // A failing standard error cannot be reported.
    try? FileHandle.standardError.write(contentsOf: Data("EFStorage: \(self)\n".utf8))
    if kind == .conversion && Self.trapsOnConversionFailureInDebugBuilds { assertionFailure("\(self)") }
  }

  private static let observers = Mutex<[ObjectIdentifier: @Sendable (EFStorageFailure) -> Void]>([:])
  private static let traps = Atomic(true)

  /// Ends when it is cancelled or released.
  public final class Observation: Sendable {
    private let body: @Sendable (EFStorageFailure) -> Void

    init(_ body: @escaping @Sendable (EFStorageFailure) -> Void) { self.body = body }

    deinit { cancel() }

    /// Begins no more calls; a running one on another thread may continue.
    public func cancel() { _ = EFStorageFailure.observers.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }
  }
}

/// The last failure of a reference. Noting a success costs one relaxed load without a failure.
package final class FailureRecord: Sendable {
  private let hasFailure = Atomic<Bool>(false)
  private let failure = Mutex<EFStorageFailure?>(nil)

  package init() {}

  package var last: EFStorageFailure? { hasFailure.load(ordering: .acquiring) ? failure.withLock { $0 } : nil }

  package func note(_ new: EFStorageFailure) {
    replace(by: new)
  }

  package func clear() {
    guard hasFailure.load(ordering: .relaxed) else { return }
    replace(by: nil)
  }

  /// The old one is released after the lock: its `deinit` may use the reference.
  private func replace(by new: EFStorageFailure?) {
    var new = new
    let isFailure = new != nil
    failure.withLock {
      swap(&$0, &new)
      hasFailure.store(isFailure, ordering: .releasing)
    }
  }
}

/// Carries the reason of a `nil` from `from…(_:forKey:)`, whose signature is every container's contract.
package enum LoadingErrors {
  @TaskLocal private static var collector: Collector?

  package enum Reason {
    case unknown
    /// The key was free at the look. Another look could find a later content.
    case absent
    case error(any Error)
  }

  // Sendable: the reason is behind a lock, though only one thread uses it.
  private final class Collector: Sendable {
    let key: KeyBytes
    let reason = Mutex(Reason.unknown)

    init(_ key: String) { self.key = KeyBytes(key) }
  }

  /// Runs `body`, which reads `key`, and returns its result and the last noted reason.
  package static func collecting<Value>(forKey key: String, _ body: () -> Value?) -> (Value?, Reason) {
    let collector = Collector(key)
    let value = $collector.withValue(collector, operation: body)
    return (value, collector.reason.withLock { $0 })
  }

  /// Notes that `body` returned `nil` for a free key, or its error, which makes the value `nil`.
  package static func noting<Value>(forKey key: String, _ body: () throws -> Value?) -> Value? {
    do {
      let value = try body()
      if value == nil, let collector, collector.key == KeyBytes(key) { collector.reason.withLock { $0 = .absent } }
      return value
    } catch {
      collector?.reason.withLock { $0 = .error(error) }
      return nil
    }
  }

  /// Reads `key` with a function that gives no reasons: its `nil` means "unreadable" if the key is taken throughout.
  /// `unreadable` makes that error.
  package static func load<Value>(
    forKey key: String, isPresent: () throws -> Bool, read: () -> Value?, unreadable: () throws -> any Error
  ) throws -> Value? {
    // Others may remove and store in between, so an error needs several attempts.
    for _ in 0..<8 {
      let (value, reason) = collecting(forKey: key, read)
      if let value { return value }
      switch reason {
      case .error(let error): throw error
      case .absent: return nil
      case .unknown: if try !isPresent() { return nil }
      }
    }
    throw try unreadable()
  }
}

/// A reference that reports its failures to the observers and its hooks, and keeps the last one.
package protocol ReportingReference: EFSingleInstanceStorageReference {
  var failures: FailureRecord { get }
  var turn: Turn { get }

  func onConversionFailure(for content: Content, dueTo error: any Error)
  func onStorageFailure(_ error: any Error)
  func onLoadFailure(_ error: any Error)
}

extension ReportingReference {
  package func report(_ failure: EFStorageFailure, writing content: Content?) -> EFStorageFailure {
    failures.note(failure)
    failure.report()
    if failure.kind == .conversion, let content {
      onConversionFailure(for: content, dueTo: failure.underlying)
    } else {
      onStorageFailure(failure.underlying)
    }
    return failure
  }

  /// Runs `body`, which reads the content, and reports its error.
  package func reportingLoad(_ body: () throws -> Content?) throws(EFStorageFailure) -> Content? {
    do {
      let content = try body()
      failures.clear()
      return content
    } catch {
      let failure = failure(.loading, error)
      // Reported once until it is read or written, or fails for another reason.
      if failures.last?.description != failure.description {
        failures.note(failure)
        failure.report()
        onLoadFailure(error)
      }
      throw failure
    }
  }

  package func failure(_ kind: EFStorageFailure.Kind, _ error: any Error) -> EFStorageFailure {
    EFStorageFailure(kind, key: key, storage: Storage.self, content: Content.self, underlying: error)
  }
}
