import FoundationObjects

// Errors with a coding path.

extension CBOREncodingBuffer {
  func codingPath(_ serial: UInt64) -> [any CodingKey] { session.path.keys(to: path(of: serial)) }

  func error(_ failure: CBOREncodingSession.Failure, _ value: Any) -> EncodingError {
    session.failure = nil
    return .invalidValue(value, .init(codingPath: failure.path, debugDescription: failure.description))
  }

  func depthError(
    _ value: Any, _ path: CBORCodingPath.Reference, _ failure: Nesting.Failure
  ) -> EncodingError {
    .invalidValue(value, .init(codingPath: session.path.keys(to: path), debugDescription: depthDescription(failure)))
  }

  private func depthDescription(_ failure: Nesting.Failure) -> String {
    """
    \(session.nesting.description(failure)). Is there a cycle of references? If there is none, raise maximumDepth, or \
    encode on a thread with a larger stack.
    """
  }

  /// The error for using a container after its value has ended.
  func staleError(_ serial: UInt64, _ key: any CodingKey) -> EncodingError {
    let failure = session.failure
    session.failure = nil
    return .invalidValue(
      key,
      .init(
        codingPath: failure?.path ?? codingPath(serial) + [key],
        debugDescription: failure?.description ?? staleDescription))
  }

  private var staleDescription: String {
    """
    A container was written to after the value it belongs to, or while a value within it was being encoded. Write to \
    a container only in the encode(to:) that asked for it, and between the values that it encodes.
    """
  }

  func staleSingleError(_ serial: UInt64) -> EncodingError {
    guard serial == top.serial else { return staleError(serial, CBORCodingKey(stringValue: "value")) }
    return .invalidValue(
      serial,
      .init(
        codingPath: codingPath(serial),
        debugDescription: "A single value container was given two values. Use an unkeyed container for several."))
  }

  func refuseContainer(_ kind: CBOREncodingFrame.Kind, _ serial: UInt64) -> UInt64 {
    let description =
      serial == top.serial
      ? """
      A value asked for a \(kind) container after it had asked for a \(top.kind) one. It can be encoded as one of \
      them only; a superclass gets an encoder of its own from superEncoder().
      """
      : staleDescription
    session.fail(description, at: codingPath(serial))
    return CBOREncodingFrame.refused
  }

  func refuseNested(_ serial: UInt64, _ key: any CodingKey) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    session.fail(staleDescription, at: codingPath(serial) + [key])
    return (self, CBOREncodingFrame.refused)
  }

  /// Records that a nested container's kind differs from the existing value's.
  func refuseKind(
    _ kind: CBOREncodingFrame.Kind, _ serial: UInt64, _ key: any CodingKey
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    session.fail(
      "The key \"\(key.stringValue)\" has a value already, which is no \(kind) container. Encode one value for each key.",
      at: codingPath(serial) + [key])
    return (self, CBOREncodingFrame.refused)
  }

  func refuseDepth(
    _ path: CBORCodingPath.Reference, _ failure: Nesting.Failure
  ) -> (buffer: CBOREncodingBuffer, serial: UInt64) {
    session.fail(depthDescription(failure), at: session.path.keys(to: path))
    return (self, CBOREncodingFrame.refused)
  }
}
