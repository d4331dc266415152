/// Gets and sets the value of one key: the part that all stores have in common.
struct Access<K: KeyType> {
  let key: K
  let reporter: FailureReporter
  /// Whether a stored value that cannot be read is news.
  var reportsUnreadable = true
  /// Returns the value that is stored, or `nil` if nothing is.
  let read: () throws -> K.ValueType?

  /// Returns what is stored, or the default value.
  func get() -> K.ValueType { get(isOutcome: true) }

  /// - Parameter isOutcome: Whether the call that is under way fails if the value cannot be read.
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

  /// Sets the value, with all hooks. Returns `false` if that failed, which was reported, or was not to be.
  ///
  /// - Parameter write: Writes, and returns whether it did: if not, what is there has been found to be newer.
  func set<Encoded>(
    _ value: K.ValueType, encode: (K.ValueType) throws -> Encoded, write: (Encoded) throws -> Bool
  ) -> Bool {
    SettingLock.withLock {
      // One that cannot be read is replaced all the same.
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
