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
