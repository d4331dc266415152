import Foundation

/// Gets and sets the values of keys: ``UserDefaultsStore``, ``CacheStore``, ``LMDBStore``, or one of your own.
public protocol Store {
  /// Removes the values of every key, without calling hooks.
  func clear()
}

extension Store {
  /// Runs `body`, and throws the first failure of a store on this thread instead of reporting it.
  ///
  /// ```swift
  /// try store.throwing { $0.set(Weather.temperature, value: 21) }
  /// let city = try store.throwing { $0.get(Weather.city) }
  /// ```
  ///
  /// A failed access is skipped, and `body` continues. The same holds in hooks.
  ///
  /// - Throws: any error of `body`, or else ``StorezFailure``.
  @discardableResult
  public func throwing<R>(_ body: (Self) throws -> R) throws -> R {
    let collector = FailureCollector()
    let result = try FailureCollector.$current.withValue(collector) { try body(self) }
    if let failure = collector.failure { throw failure }
    return result
  }
}

/// Gets and sets the value of one key: the common part of all stores.
struct Access<K: KeyType> {
  let key: K
  let reporter: FailureReporter
  var reportsUnreadable = true
  let read: () throws -> K.ValueType?

  func get() -> K.ValueType { get(isOutcome: true) }

  /// - Parameter isOutcome: Whether an unreadable value makes the running call fail.
  private func get(isOutcome: Bool) -> K.ValueType {
    do {
      return try read() ?? key.defaultValue
    } catch {
      if !reportsUnreadable { return key.defaultValue }
      let failure =
        error as? StorezFailure
        ?? StorezFailure(
          .decoding, key: key.stringValue,
          "What is stored under \"\(key.stringValue)\" cannot be read as \(K.ValueType.self). It is kept; set or remove it.",
          underlying: error)
      reporter.report(failure, isFromReading: true, isOutcome: isOutcome)
      return key.defaultValue
    }
  }

  /// Sets the value, with all hooks. Returns `false` if it was not written; failures are reported.
  ///
  /// - Parameter write: Writes, and returns whether it did; it does not replace a newer value.
  func set<Encoded>(
    _ value: K.ValueType, encode: (K.ValueType) throws -> Encoded, write: (Encoded) throws -> Bool
  ) -> Bool {
    SettingLock.withLock {
      // An unreadable one is replaced too.
      let oldValue = get(isOutcome: false)
      let newValue = key.processChange(oldValue, newValue: value)
      let encoded: Encoded
      do {
        encoded = try encode(newValue)
      } catch {
        return fail(.encoding, "The new value of \"\(key.stringValue)\" cannot be stored; the old one stays.", error)
      }
      key.willChange(oldValue, newValue: newValue)
      K.NamespaceType.preCommitHook()
      do {
        guard try write(encoded) else { return false }
      } catch {
        return fail(.storage, "The new value of \"\(key.stringValue)\" was not written; the old one stays.", error)
      }
      reporter.didWrite(key.stringValue)
      K.NamespaceType.postCommitHook()
      key.didChange(oldValue, newValue: newValue)
      return true
    }
  }

  private func fail(_ code: StorezFailure.Code, _ message: String, _ error: any Error) -> Bool {
    reporter.report(StorezFailure(code, key: key.stringValue, message, underlying: error))
    return false
  }
}

/// Serializes setting in the whole process. With a lock for each store, two hooks that set a value in each other's
/// store could deadlock.
enum SettingLock {
  private static let lock = NSRecursiveLock()

  static func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }
}

/// How user defaults or memory hold values of one kind.
protocol ObjectCodec<Value> {
  associatedtype Value

  /// Returns `nil` to store nothing.
  static func object(for value: Value) throws -> Any?
  static func value(of object: Any) throws -> Value
}

/// Optionals, whose `nil` is not stored.
enum NullableObject<Codec: ObjectCodec>: ObjectCodec {
  static func object(for value: Codec.Value?) throws -> Any? { try value.flatMap { try Codec.object(for: $0) } }
  static func value(of object: Any) throws -> Codec.Value? { try Codec.value(of: object) }
}
